"""Where text comes from: one interface (``interface``), one transport, one store."""
