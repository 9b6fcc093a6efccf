"""SGLang: roles, the world its code runs in, and the contracts' questions to it."""
