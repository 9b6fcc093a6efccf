"""Decoder layers of a target: what one hands on, and what it captures on the way.

A layer that captures nothing is not read: it takes the stream one layer deeper. One that is
handed a collector is followed through its own ``forward``, with its norms, its modules and
what stands between them as symbols; so a capture is seen where it happens, before the layer's
modules, between them or after.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from investigator.code import classes, lazy
from investigator.code.interpreter import Interpreter, Native
from investigator.code.values import (
    ABSENT,
    BoundMethod,
    ClassValue,
    External,
    FunctionValue,
    Instance,
    NativeMethod,
    OneOf,
    Raised,
    Symbol,
    TracedList,
    Unknown,
    Value,
)
from investigator.engines.sglang.states import Norm, Part, Passage, Share, Stream, streams
from investigator.engines.sglang.world import Session

COLLECTORS = "sglang/srt/layers/aux_hidden_states.py"
COLLECTS = frozenset({"append", "capture"})
"""The methods of a collector that take a stream; a class there that has one of them is a collector."""
BOUNDARY = ("sglang/srt/layers/layer_boundary/stage.py", "StageBoundary", "StageKind")
"""The class that stands between a layer's modules where a release has one, and its kinds."""
BOUNDARY_SUFFIX = "_boundary"
"""How a layer's attribute is called that holds one: built by a stack of layers as a whole."""
CARRIER = ("sglang/srt/layers/layer_boundary/residual/stream.py", "ResidualStream")
STREAM = "residual_stream"
"""The batch's attribute that carries the stream where layers hand on one tensor."""


@dataclass(eq=False)
class DecoderLayer(Symbol):
    """One decoder layer. ``made``: its object, by its class's constructor, when it is needed.

    ``passed``: shared by the layers of a target; the numbers of those that the stream went
    through, in that order, and why one of them could not be followed.
    """

    number: int
    session: Session
    make: Callable[[], Value]
    passed: list[Value]
    attributes: dict[str, Value] = field(default_factory=dict)
    _made: list[Value] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"<decoder layer {self.number}>"

    @property
    def made(self) -> Value:
        """The layer's own object; Unknown when its class is not known."""
        if not self._made:
            self._made.append(self.make())
        return self._made[0]

    def kept(self) -> dict[str, Value]:
        """What the model sets on the layer: ``_is_layer_to_capture``."""
        return self.attributes

    def attribute(self, name: str) -> Value:
        """What the layer's constructor sets, or its class has."""
        made = self.made
        if not isinstance(made, Instance) or made.cls is None:
            return NotImplemented
        frame = self.session.frame(made.cls)
        found = self.session.interp.attribute_or_missing(frame, made.cls.node, made, name)
        return ABSENT if found is NotImplemented else found

    def truth(self) -> bool | None:
        """A layer is there."""
        return True

    def instance_of(self, cls: ClassValue) -> bool | None:
        """By the class that its maker gives it."""
        made = self.made
        return classes.is_instance(self.session.interp, made, cls) if _is_object(made) else None

    def call(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """The stream one layer deeper; not decided when no stream was handed in."""
        handed = streams(arguments, keywords)
        if not handed:
            return NotImplemented
        depth = max(stream.depth for stream in handed)
        batch = next((b for b in (*arguments, *keywords.values()) if _carries(b)), None)
        cls = batch.attributes[STREAM].cls if batch is not None else None
        if any(collects(value) for value in (*arguments, *keywords.values())):
            missing = self._follow(arguments, keywords)
            if missing is not None:
                self.passed.append(missing)
                return missing
        self.passed.append(self.number)
        if batch is None or cls is None:
            return Stream(depth + 1, Share.OUTPUT)
        # The batch carries the stream: the next layer is handed what this one adds to it.
        delta = Stream(depth + 1, Share.DELTA, beside=True)
        batch.attributes[STREAM] = _pending(self.session, cls, delta)
        return delta

    def _follow(self, arguments: tuple[Value, ...], keywords: dict[str, Value]) -> Unknown | None:
        """Run the layer's ``forward``; None when it ran, with whatever it captured."""
        interp, made = self.session.interp, self.made
        forward = classes.class_attribute(interp, made.cls, "forward") if _is_object(made) else None
        if not isinstance(forward, FunctionValue):
            return Unknown(f"the class of decoder layer {self.number} is not known")
        handed = (*arguments, *keywords.values())
        collected = [items for value in handed if (items := list_of(value)) is not None]
        before = [len(items) for items in collected]
        _with_symbols(self.session, made)
        try:
            interp.enter(forward, (made, *arguments), keywords)
        except Raised as raised:
            if [len(items) for items in collected] == before:
                return Unknown(f"decoder layer {self.number} raises {raised}", raised.stack[-1])
        return None


def _carries(value: Value) -> bool:
    """Whether this is a batch that carries the stream."""
    carried = value.attributes.get(STREAM) if isinstance(value, Instance) else None
    return isinstance(carried, Instance)


def _is_object(value: Value) -> bool:
    return isinstance(value, Instance) and value.cls is not None


def _pending(session: Session, cls: ClassValue, delta: Stream) -> Instance:
    """The batch's stream with a layer's output pending: what its class calls so, set as code outside it
    would, since an attribute may be a property."""
    interp = session.interp
    contribution = interp.global_name(cls.module, "Contribution")
    pending = Instance(
        contribution if isinstance(contribution, ClassValue) else None,
        {"value": delta, "update": Passage(), "owed": None},
        complete=False,
        label="contribution",
    )
    made = Instance(cls, {}, complete=False, label=STREAM)
    carried = {"residual": Stream(delta.depth, Share.BASE), "pending": pending, "transport": None}
    for name, value in carried.items():
        interp.set_attribute(session.frame(cls), cls.node, made, name, value)
    return made


# -- a layer's own attributes ----------------------------------------------------------


def _with_symbols(session: Session, made: Instance) -> None:
    """Let a layer's norms, modules and passages stand for what they do to the stream."""
    inner = made.made_by
    assert made.cls is not None
    if inner is None:
        return
    assigned = frozenset(
        name
        for base in classes.mro(session.interp, made.cls)
        if isinstance(base, ClassValue)
        for name in session.interp.assigned_attributes(base)
    )

    def attribute(name: str) -> Value:
        if name.endswith(BOUNDARY_SUFFIX) and name in assigned:
            return _boundary(session, name) or inner(name)
        value = inner(name)
        if isinstance(value, OneOf):
            return replace(value, options=tuple(_symbol(session, name, option) for option in value.options))
        return _symbol(session, name, value)

    made.made_by = attribute
    made.attributes.clear()


def _symbol(session: Session, name: str, value: Value) -> Value:
    """What an attribute of a layer does to the stream, where it is an object."""
    if not isinstance(value, Instance):
        return value
    kind = value.cls.name if value.cls is not None else ""
    if "norm" in f"{kind} {name}".lower():
        return Norm()
    if value.cls is None or _is_module(session.interp, value.cls):
        return Part()
    return _between(value)


def _is_module(interp: Interpreter, cls: ClassValue) -> bool:
    return any(
        isinstance(base, Unknown) or (isinstance(base, External) and base.dotted.endswith("Module"))
        for base in classes.mro(interp, cls)
    )


def _between(value: Instance) -> Instance:
    """An object between a layer's modules: what it does not decide itself moves the stream, and so does a
    function that it keeps, which of them it may be."""
    inner = value.made_by

    def attribute(name: str) -> Value:
        found = inner(name) if inner is not None else NotImplemented
        moves = found is NotImplemented or isinstance(found, Unknown | OneOf | Instance | FunctionValue)
        return Passage() if moves else found

    return Instance(value.cls, {}, complete=False, label="between modules", made_by=attribute)


def _boundary(session: Session, name: str) -> Instance | None:
    """The release's stage boundary, where it has such a class."""
    path, cls_name, kinds_name = BOUNDARY
    for module in session.interp.program.among([f"class {cls_name}"], [path]):
        cls = session.interp.global_name(module, cls_name)
        kinds = session.interp.global_name(module, kinds_name)
        if not isinstance(cls, ClassValue):
            continue
        declaration: dict[str, Value] = {"row_transport": None}
        if "attn" in name and isinstance(kinds, ClassValue):
            declaration["kind"] = classes.class_attribute(session.interp, kinds, "ATTENTION")
        return Instance(
            cls,
            {
                "plan": Passage(),
                "declaration": Instance(None, declaration, complete=False),
            },
            complete=False,
            label="stage boundary",
        )
    return None


# -- what captured streams are collected in --------------------------------------------


def collects(value: Value) -> bool:
    """Whether a value handed to a layer takes captured streams: a list, what appends to one, or a function
    of the model's own that may."""
    return list_of(value) is not None or isinstance(value, FunctionValue)


def list_of(value: Value) -> list[Value] | None:
    """The list behind a collector."""
    if isinstance(value, list) and not isinstance(value, TracedList):
        return value
    if isinstance(value, NativeMethod | BoundMethod):
        return list_of(value.receiver)
    if isinstance(value, Instance):
        return list_of(value.attributes.get("append"))
    return None


def collector(cls: ClassValue, items: list[Value]) -> Instance:
    """An object of a class whose objects collect streams like a list: into ``items``."""
    methods = {name: NativeMethod(items, name) for name in ("append", "extend")}
    return Instance(cls, dict(methods), complete=False, label="collector")


def install_collectors(session: Session) -> list[list[Value]]:
    """Let objects of the release's collector classes be lists; returns those that are made."""
    interp = session.interp
    made: list[list[Value]] = []
    for module in interp.program.among(["class "], [COLLECTORS]):
        for name in module.symbols:
            cls = interp.global_name(module, name)
            own = isinstance(cls, ClassValue) and cls.module is module
            if isinstance(cls, ClassValue) and own and COLLECTS & classes.own_definitions(cls).keys():
                make = _making(cls, made)
                interp.natives[cls.name] = make
                for method in _factories(interp, cls):
                    interp.natives[f"{cls.name}.{method}"] = make
    return made


def install_stream(session: Session) -> None:
    """Let the object that carries the stream in the batch be followed, where a release has one."""
    path, name = CARRIER
    for module in session.interp.program.among([f"class {name}"], [path]):
        cls = session.interp.global_name(module, name)
        if isinstance(cls, ClassValue):
            session.interp.natives[name] = _carrying(cls)


def _carrying(cls: ClassValue) -> Native:
    def make(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        return lazy.instance(interp, cls, lazy.bound(interp, cls, args, kwargs), label=STREAM)

    return make


def _making(cls: ClassValue, made: list[list[Value]]) -> Native:
    def make(*_: object) -> Value:
        made.append([])
        return collector(cls, made[-1])

    return make


def _factories(interp: Interpreter, cls: ClassValue) -> Iterator[str]:
    for name in classes.own_definitions(cls):
        found = classes.own_attribute(interp, cls, name)
        if isinstance(found, FunctionValue) and "classmethod" in found.decorators:
            yield name


# -- the stack of layers ---------------------------------------------------------------


def install_layers(session: Session, count: int) -> list[DecoderLayer]:
    """Let the engine's ``make_layers`` give symbols; returns the list they come in."""
    stack: list[DecoderLayer] = []
    passed: list[Value] = []

    def make_layers(_: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        function = args[1] if len(args) > 1 else kwargs.get("layer_fn")
        if not stack:
            stack.extend(DecoderLayer(i, session, _maker(session, function, i), passed) for i in range(count))
        # Asked for this pipeline rank's layers, it tells their first number and the one past
        # their last, too.
        ranked = "pp_rank" in kwargs or len(args) > 2
        return (stack, 0, count) if ranked else stack

    def make_ranked(interp: Interpreter, args: tuple[Value, ...], kwargs: dict[str, Value]) -> Value:
        make_layers(interp, args, kwargs)
        return (stack, 0, count)

    session.interp.natives.update(
        make_layers=make_layers, make_pp_layers=make_ranked, make_layers_non_pp=make_layers
    )
    return stack


def _maker(session: Session, function: Value, number: int) -> Callable[[], Value]:
    def supply(name: str, annotation: str) -> Value:
        if name in ("idx", "layer_id", "layer_idx", "i"):
            return number
        return session.supply(name, annotation)

    def make() -> Value:
        if isinstance(function, FunctionValue):
            return lazy.returned(session.interp, function, supply)
        return Unknown("how the target's layers are made")

    return make
