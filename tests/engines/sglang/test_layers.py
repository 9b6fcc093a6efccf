"""A target's decoder layers as symbols: what is known of them, and what captures on the way."""

from investigator.code.program import Program
from investigator.code.values import ClassValue, FunctionValue, Instance, NativeMethod, Unknown
from investigator.engines.sglang.layers import STREAM, DecoderLayer, collects
from investigator.engines.sglang.states import Stream
from investigator.engines.sglang.world import Session, World
from tests.code.trees import MemoryTree
from tests.support.releases import FULL, pair

MODEL = b"""
class Mixer:
    pass


class Attention(Mixer):
    pass


class Experts:
    pass


def keep(stream):
    kept.append(stream)


class Carrier:
    @property
    def residual(self):
        return self.kept

    @residual.setter
    def residual(self, value):
        self.kept = value

    def snapshot(self):
        return self.pending.value + self.residual
"""


def parts() -> tuple[Session, dict[str, ClassValue | FunctionValue]]:
    program = Program(MemoryTree({"m.py": MODEL}))  # type: ignore[arg-type]
    session = World(program, pair(FULL)).start()
    module = program.module_at("m.py")
    assert module is not None
    found = {name: session.interp.global_name(module, name) for name in module.symbols}
    return session, {n: v for n, v in found.items() if isinstance(v, ClassValue | FunctionValue)}


def the_class(found: dict[str, ClassValue | FunctionValue], name: str) -> ClassValue:
    value = found[name]
    assert isinstance(value, ClassValue)
    return value


def test_a_layer_is_of_the_class_that_its_maker_gives_it() -> None:
    session, found = parts()
    made = Instance(the_class(found, "Attention"))
    layer = DecoderLayer(0, session, lambda: made, [])

    assert layer.instance_of(the_class(found, "Mixer")) is True
    assert layer.instance_of(the_class(found, "Experts")) is False


def test_a_layer_whose_class_is_not_known_may_be_of_any() -> None:
    """A model that stops at layers of no known kind must not be taken to stop."""
    session, found = parts()
    layer = DecoderLayer(0, session, lambda: Unknown("how the target's layers are made"), [])

    assert layer.instance_of(the_class(found, "Mixer")) is None


def test_what_may_take_a_captured_stream() -> None:
    _, found = parts()

    assert collects([])
    assert collects(NativeMethod([], "append"))
    assert collects(found["keep"])
    assert not collects(None)
    assert not collects(Unknown("a batch"))


def test_a_batch_carries_what_a_layer_adds_as_its_class_keeps_it() -> None:
    """An attribute of the class that carries the stream may be a property over another one."""
    session, found = parts()
    carrier = the_class(found, "Carrier")
    batch = Instance(None, {STREAM: Instance(carrier)}, complete=False)

    DecoderLayer(4, session, lambda: None, []).call((Stream(4), batch), {})

    carried = batch.attributes[STREAM]
    frame, node = session.frame(carrier), carrier.node
    snapshot = session.interp.attribute(frame, node, carried, "snapshot")
    assert session.interp.call(frame, node, snapshot, (), {}) == Stream(5)
