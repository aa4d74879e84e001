"""Which functions of the broker may pause: an analysis of their sources."""

import ast
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.pausing_names import ANY, NOTHING, UNKNOWN, Function, Type
from tests.pausing_types import Types

ROOT = Path(__file__).parent.parent
PACKAGES = ("broker", "protocol", "quotas", "producer_state")
OUTSIDE = ("broker.server.", "broker.serve.", "broker.dispatch.connection.")
_REGISTRIES = {
    "handles": "broker.routes.Route",
    "operation": "broker.http_admin.operation.Operation",
}
_KEEPS = ("partial", "Callable", "call_later", "call_soon")
"""What keeps a function that it gets, and does not call it."""
GENERATED = (
    "broker.dispatch.connection.Connection._deliver",
    "broker.groups.group.Group.deliver",
    "protocol.codec.decode_request",
    "protocol.paced_codec.encode_paced",
    "protocol.request_bounds.check_bounds",
)
"""Functions that call generated code, a given encoder, or closures in lists, that may pause."""
_ITERATORS = {"enumerate", "zip", "map", "filter", "iter", "chain"}
CALLS_GENERATED = "protocol.codec._decoded"
"""Calls a generated function that it is given; not each one pauses."""
_LEVELS = {"broker": 2, "quotas": 1, "producer_state": 1, "protocol": 0}
_SCALARS = {"int", "str", "bool", "bytes", "float"}


class CallOf(NamedTuple):
    """A call in a function."""

    target: str
    node: ast.AST
    is_given: bool
    """Whether the function calls what its caller has passed to it."""


def _attribute(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    return call.func.attr


def _is_scalar(found: Type) -> bool:
    return bool(found) and all(a[0] == "external" and a[1] in _SCALARS for a in found)


def _returns_iterator(function: Function) -> bool:
    if isinstance(function.node, ast.Lambda) or function.node.returns is None:
        return False
    return ast.unparse(function.node.returns).partition("[")[0] in {
        "Iterable",
        "Iterator",
        "Generator",
    }


class Pausing(Types):
    def __init__(self, sources: Mapping[str, str]) -> None:
        super().__init__(sources)
        self.calls: dict[str, list[CallOf]] = {}
        self.unknown: dict[str, list[ast.Call]] = {}
        while self._flow():
            pass
        self._note_called_parameters()
        for name, function in self.functions.items():
            self._note_calls(name, function)
        self.functions_that_pause = self._pausing()

    def _flow(self) -> bool:
        """Note which functions are passed for which parameters; return whether any was new."""
        self._is_new = False
        self._known.clear()
        for function in self.functions.values():
            self._register(function)
            for node in function.nodes:
                if isinstance(node, ast.Call):
                    self._flow_call(node, function)
                elif isinstance(node, ast.Assign):
                    for target in node.targets:
                        if isinstance(target, ast.Attribute):
                            self._flow_assign(target, node.value, function)
        return self._is_new

    def _register(self, function: Function) -> None:
        if isinstance(function.node, ast.Lambda):
            return
        for decorator in function.node.decorator_list:
            if not isinstance(decorator, ast.Call):
                continue
            registry = _REGISTRIES.get(ast.unparse(decorator.func))
            if registry is None:
                continue
            route = self.classes[registry]
            self._add(route.values, "handler", frozenset({("function", function.name)}))
            for keyword in decorator.keywords:
                self._add(route.values, str(keyword.arg), self._of_module(keyword.value, function))

    def _of_module(self, node: ast.expr, function: Function) -> Type:
        return self._functions(self.resolve(node, function))

    @staticmethod
    def _functions(found: Type) -> Type:
        return frozenset(atom for atom in found if atom[0] == "function")

    def _add(self, values: dict[str, Type], name: str, found: Type) -> None:
        before = values.get(name, NOTHING)
        if not found <= before:
            values[name] = before | found
            self._is_new = True

    def _add_parameter(self, target: Function, name: str, found: Type) -> None:
        for parameter in target.parameters:
            if parameter.arg == name:
                types = self.annotated(parameter.annotation, target.module, target.of_class)
                if isinstance(target.node, ast.Lambda) or not _is_scalar(types):
                    self._add(target.values, name, found)

    def _flow_assign(self, target: ast.Attribute, value: ast.expr, function: Function) -> None:
        found = self._functions(self.resolve(value, function))
        if found:
            for atom in self.resolve(target.value, function):
                if atom[0] == "object" and not _is_scalar(
                    self._declared(str(atom[1]), target.attr)
                ):
                    self._add(self.classes[str(atom[1])].values, target.attr, found)

    def _declared(self, class_name: str, attribute: str) -> Type:
        for ours in self.mro(self.classes[class_name]):
            if attribute in ours.annotations:
                return self.annotated(ours.annotations[attribute], ours.module, ours.name)
        return ANY

    def _flow_call(self, node: ast.Call, function: Function) -> None:
        arguments = [(place, None, value) for place, value in enumerate(node.args)]
        keywords = [(-1, keyword.arg, keyword.value) for keyword in node.keywords]
        values = [
            (place, name, self._functions(self.resolve(value, function)))
            for place, name, value in (*arguments, *keywords)
        ]
        values = [value for value in values if value[2]]
        if not values:
            return
        called = self.resolve(node.func, function)
        shift = 0
        if any(a[0] == "external" and str(a[1]).endswith("partial") for a in called):
            called, shift = self.resolve(node.args[0], function), -1
        for target, is_bound in self._targets(called):
            parameters = [p.arg for p in target.parameters]
            first = 1 if is_bound else 0
            for place, name, found in values:
                position = place + first + shift
                if name is not None:
                    self._add_parameter(target, name, found)
                elif 0 <= position < len(parameters):
                    self._add_parameter(target, parameters[position], found)
        for atom in called:
            if atom[0] == "class" and "__init__" not in self.classes[str(atom[1])].methods:
                ours = self.classes[str(atom[1])]
                names = [n for c in reversed([*self.mro(ours)]) for n in c.annotations]
                for place, name, found in values:
                    attribute = name or (
                        names[place + shift] if place + shift < len(names) else None
                    )
                    if attribute is not None and not _is_scalar(
                        self._declared(ours.name, attribute)
                    ):
                        self._add(ours.values, attribute, found)

    def _targets(self, called: Type) -> Iterator[tuple[Function, bool]]:
        """Yield the functions that a call may reach, and whether it passes no `self`."""
        for atom in called:
            if atom[0] == "function":
                target = self.functions[str(atom[1])]
                yield target, target.has_self
            elif atom[0] == "class":
                for name in ("__init__", "__new__", "__post_init__"):
                    for target in self.methods(str(atom[1]), name)[:1]:
                        yield target, True
            elif atom[0] == "object":
                for target in self.methods(str(atom[1]), "__call__"):
                    yield target, True

    def _note_called_parameters(self) -> None:
        """Note which functions call what they get for a parameter, or pass it to one that does."""
        self.called_parameters: dict[str, set[str]] = {name: set() for name in self.functions}
        calls = [
            (node, function)
            for function in self.functions.values()
            for node in function.nodes
            if isinstance(node, ast.Call)
        ]
        is_new = True
        while is_new:
            is_new = False
            for node, function in calls:
                for owner, parameter in self._called_by(node, function):
                    known = self.called_parameters[owner.name]
                    is_new = is_new or parameter not in known
                    known.add(parameter)

    def _called_by(self, node: ast.Call, function: Function) -> Iterator[tuple[Function, str]]:
        owned = self._owner_of(node.func, function)
        if owned is not None:
            yield owned
        for value, _ in self._called_arguments(node, function):
            owned = self._owner_of(value, function)
            if owned is not None:
                yield owned

    @staticmethod
    def _owner_of(node: ast.expr, function: Function) -> tuple[Function, str] | None:
        """Return the function whose parameter a name is, and the name."""
        if isinstance(node, ast.Name):
            inner: Function | None = function
            while inner is not None:
                if any(p.arg == node.id for p in inner.parameters):
                    return inner, node.id
                if node.id in inner.bindings or node.id in inner.nested:
                    return None
                inner = inner.parent
        return None

    def _called_arguments(
        self, node: ast.Call, function: Function
    ) -> Iterator[tuple[ast.expr, Function | None]]:
        """Yield the arguments of a call that it calls: those of `sorted`, or of such parameters."""
        called = self.resolve(node.func, function)
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        if any(a[0] == "external" and not str(a[1]).endswith(_KEEPS) for a in called):
            for value in values:
                yield value, None
        for target, is_bound in self._targets(called):
            parameters = [p.arg for p in target.parameters][1 if is_bound else 0 :]
            given = dict(zip(parameters, node.args, strict=False))
            given.update((str(k.arg), k.value) for k in node.keywords)
            for parameter in self.called_parameters[target.name]:
                if parameter in given:
                    yield given[parameter], target

    def _note_calls(self, name: str, function: Function) -> None:
        """Note what a function calls: itself, and through what callers pass to it."""
        calls = self.calls[name] = []
        unknown = self.unknown[name] = []
        for node in function.nodes:
            calls.extend(self._reached(node, function))
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and UNKNOWN in self.resolve(node.func.value, function)
            ):
                unknown.append(node)

    def _reached(self, node: ast.AST, function: Function) -> Iterator[CallOf]:
        if isinstance(node, ast.Call):
            is_given = self._owner_of(node.func, function) is not None
            called = self.resolve(node.func, function)
            for target, _ in self._targets(called):
                yield CallOf(target.name, node, is_given)
            for value, _ in self._called_arguments(node, function):
                is_given = self._owner_of(value, function) is not None
                for atom in self._functions(self.resolve(value, function)):
                    yield CallOf(str(atom[1]), node, is_given)
        elif isinstance(node, ast.Attribute):
            for atom in self.resolve(node.value, function):
                if atom[0] == "object":
                    for method in self.methods(str(atom[1]), node.attr):
                        if method.is_property:
                            yield CallOf(method.name, node, is_given=False)
        else:
            for name, place in self._special(node, function):
                yield CallOf(name, place, is_given=False)

    def _special(self, node: ast.AST, function: Function) -> Iterator[tuple[str, ast.AST]]:
        names: list[str] = []
        owner: ast.expr | None = None
        if isinstance(node, (ast.For, ast.comprehension)):
            owner, names = node.iter, ["__iter__", "__next__"]
        elif isinstance(node, ast.Subscript):
            owner, names = node.value, ["__getitem__", "__setitem__", "__missing__", "__delitem__"]
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            owner, names = node.comparators[0], ["__contains__"]
        elif isinstance(node, ast.With):
            for item in node.items:
                yield from self._methods(item.context_expr, ["__enter__", "__exit__"], function)
        if owner is not None:
            yield from self._methods(owner, names, function)

    def _methods(
        self, owner: ast.expr, names: list[str], function: Function
    ) -> Iterator[tuple[str, ast.AST]]:
        for atom in self.resolve(owner, function):
            if atom[0] == "object":
                for name in names:
                    for method in self.methods(str(atom[1]), name):
                        yield method.name, owner

    def _pausing(self) -> dict[str, str]:
        """Return the functions that may pause, each with the one that it calls.

        A call of a function that pauses only in what it is given is a pause if that pauses.
        """
        found = dict.fromkeys(GENERATED, "generated code")
        found |= {
            name: "the end of the turn"
            for name, function in self.functions.items()
            if any(
                isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".parent.switch")
                for node in function.nodes
            )
        }
        self._spread(found, lambda caller, call: not call.is_given)
        self.pausing_by_themselves = frozenset(found)
        found[CALLS_GENERATED] = "generated code"
        by_themselves = self.pausing_by_themselves
        self._note_given_iterators()
        self._spread(
            found,
            lambda caller, call: (
                call.is_given
                or call.target in by_themselves
                or call.target.startswith(f"{caller}.<locals>.")
            ),
        )
        return found

    def _note_given_iterators(self) -> None:
        """Add calls of what pauses, for functions that iterate over an iterator that pauses."""
        self._given_iterators: set[tuple[str, str]] = set()
        count = -1
        while count != len(self._given_iterators):
            count = len(self._given_iterators)
            for function in self.functions.values():
                for node in function.nodes:
                    if isinstance(node, ast.Call):
                        self._note_given_iterator(node, function)
        for name, parameter in self._given_iterators:
            function = self.functions[name]
            if any(self._iterates(node, parameter) for node in function.nodes):
                self.calls[name].append(
                    CallOf("protocol.pacing._paced", function.node, is_given=True)
                )

    def _note_given_iterator(self, node: ast.Call, function: Function) -> None:
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        if not any(self._pauses_later(value, function) for value in values):
            return
        for target, is_bound in self._targets(self.resolve(node.func, function)):
            parameters = [p.arg for p in target.parameters][1 if is_bound else 0 :]
            given = dict(zip(parameters, node.args, strict=False))
            given.update((str(k.arg), k.value) for k in node.keywords)
            for parameter, value in given.items():
                if self._pauses_later(value, function):
                    self._given_iterators.add((target.name, parameter))

    def _pauses_later(self, node: ast.expr, function: Function) -> bool:
        """Return whether an expression is an iterator that pauses."""
        match node:
            case ast.Call():
                if any(
                    atom[0] == "external" and str(atom[1]).rpartition(".")[2] in _ITERATORS
                    for atom in self.resolve(node.func, function)
                ):
                    return any(self._pauses_later(value, function) for value in node.args)
                return any(
                    target.name in self.pausing_by_themselves and _returns_iterator(target)
                    for target, _ in self._targets(self.resolve(node.func, function))
                )
            case ast.GeneratorExp():
                inside = {id(inner) for inner in ast.walk(node)}
                return any(
                    id(call.node) in inside and call.target in self.pausing_by_themselves
                    for call in self.calls[function.name]
                )
            case ast.IfExp():
                parts = (node.body, node.orelse)
                return any(self._pauses_later(part, function) for part in parts)
            case ast.Name():
                if (function.name, node.id) in self._given_iterators:
                    return True
                values = function.bindings.get(node.id, ())
                return any(
                    how == "value" and value is not node and self._pauses_later(value, function)
                    for how, value in values
                    if not any(isinstance(n, ast.Name) and n.id == node.id for n in ast.walk(value))
                )
            case _:
                return False

    @staticmethod
    def _iterates(node: ast.AST, name: str) -> bool:
        parts: list[ast.expr] = []
        if isinstance(node, (ast.For, ast.comprehension)):
            parts = [node.iter]
        elif isinstance(node, ast.Call):
            parts = node.args
        elif isinstance(node, (ast.YieldFrom, ast.Starred)):
            parts = [node.value]
        return any(isinstance(n, ast.Name) and n.id == name for p in parts for n in ast.walk(p))

    def _spread(self, found: dict[str, str], counts: Callable[[str, CallOf], bool]) -> None:
        """Add the callers of functions that may pause, through the calls that count."""
        callers: dict[str, set[str]] = {}
        by_attribute: dict[str, set[str]] = {}
        for name, calls in self.calls.items():
            for call in calls:
                if counts(name, call):
                    callers.setdefault(call.target, set()).add(name)
            for unknown in self.unknown[name]:
                by_attribute.setdefault(_attribute(unknown), set()).add(name)
        waiting = list(found)
        while waiting:
            pausing = waiting.pop()
            function = self.functions[pausing]
            attribute = pausing.rpartition(".")[2] if function.of_class else ""
            by_shape = {
                caller
                for caller in by_attribute.get(attribute, ())
                if any(self._may_reach(call, caller, function) for call in self.unknown[caller])
            }
            for caller in callers.get(pausing, set()) | by_shape:
                if caller not in found and not self._is_outside(caller):
                    found[caller] = pausing
                    waiting.append(caller)

    def marked(self) -> set[str]:
        """Return the functions that say `@may_pause`."""
        return {
            name for name, function in self.functions.items() if "may_pause" in function.decorators
        }

    def unmarked(self) -> set[str]:
        """Return what may pause and does not say so. Functions in functions have no marker."""
        pausing = {name for name in self.functions_that_pause if "<locals>" not in name}
        return pausing - self.marked()

    def reason(self, name: str) -> str:
        """Return the calls through which a function pauses."""
        calls = [name]
        while calls[-1] in self.functions_that_pause:
            calls.append(self.functions_that_pause[calls[-1]])
        return " -> ".join(calls)

    def guarded(self) -> list[tuple[str, ast.With]]:
        """Return what is within `no_pause()`, with the name of its function."""
        return [
            (name, node)
            for name, function in self.functions.items()
            for node in function.nodes
            if isinstance(node, ast.With)
            and any(ast.unparse(item.context_expr) == "no_pause()" for item in node.items)
        ]

    def pauses_within(self, name: str, guarded: ast.With) -> set[str]:
        """Return the functions that may pause and are called within `no_pause()`."""
        inside = {id(node) for statement in guarded.body for node in ast.walk(statement)}
        found = {
            call.target
            for call in self.calls[name]
            if id(call.node) in inside
            and (
                call.target in self.pausing_by_themselves
                or (call.is_given and call.target in self.functions_that_pause)
            )
        }
        calls = [call for call in self.unknown[name] if id(call) in inside]
        return found | {
            pausing
            for pausing in self.functions_that_pause
            if self.functions[pausing].of_class
            and any(self._may_reach(call, name, self.functions[pausing]) for call in calls)
        }

    @staticmethod
    def _may_reach(call: ast.Call, caller: str, method: Function) -> bool:
        """Return whether a call of a method of an unknown object may be one of this method.

        It has its name and its parameters. A package knows only objects of itself and of those
        below it.
        """
        assert not isinstance(method.node, ast.Lambda)
        own, other = caller.partition(".")[0], method.name.partition(".")[0]
        if _attribute(call) != method.node.name or _LEVELS[other] > _LEVELS[own]:
            return False
        arguments = method.node.args
        if any(isinstance(a, ast.Starred) for a in call.args) or any(
            keyword.arg is None for keyword in call.keywords
        ):
            return True
        places = [a.arg for a in (*arguments.posonlyargs, *arguments.args)][method.has_self :]
        names = {*places, *(a.arg for a in arguments.kwonlyargs)}
        given = {*places[: len(call.args)], *(str(keyword.arg) for keyword in call.keywords)}
        required = {*places[: len(places) - len(arguments.defaults)]} | {
            a.arg
            for a, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is None
        }
        has_room = len(call.args) <= len(places) or arguments.vararg is not None
        is_known = given <= names or arguments.kwarg is not None
        return has_room and is_known and required <= given

    def _is_outside(self, name: str) -> bool:
        is_async = isinstance(self.functions[name].node, ast.AsyncFunctionDef)
        return is_async or name.startswith(OUTSIDE)


def read_sources() -> dict[str, str]:
    """Return the text of each module of the broker and what it imports."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path.read_text()
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
    }
