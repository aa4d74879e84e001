"""The names and the types of our sources, as far as the analysis of pauses needs them.

A type is a set of atoms: `("object", class)`, `("class", class)`, `("function", function)`,
`("module", module)`, `("external", name, types of the arguments)`, and `UNKNOWN`. What a name may
refer to is the union of all that is assigned to it, so it is never too small for that reason.
"""

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

Atom = tuple[object, ...]
Type = frozenset[Atom]
UNKNOWN: Atom = ("unknown",)
ANY: Type = frozenset({UNKNOWN})
NOTHING: Type = frozenset()
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def external(name: str, *arguments: Type) -> Type:
    """Return the type of an object of a class that is not ours."""
    return frozenset({("external", name, arguments)})


@dataclass(slots=True)
class Function:
    """A function, method or lambda; comprehensions belong to the function around them."""

    name: str
    """The module and the qualified name; a lambda has its line and column in it."""
    node: FunctionNode
    module: "Module"
    of_class: str | None
    """The class whose method it is."""
    parent: "Function | None"
    """The function around it."""
    nested: dict[str, "Function"] = field(default_factory=dict)
    lambdas: dict[ast.Lambda, "Function"] = field(default_factory=dict)
    bindings: dict[str, list[tuple[str, ast.expr]]] = field(default_factory=dict)
    """What is assigned to a local name, and how: `value`, `element`, `enter` or a place in it."""
    imports: dict[str, str] = field(default_factory=dict)
    values: dict[str, Type] = field(default_factory=dict)
    """The functions that callers pass for a parameter."""
    nodes: list[ast.AST] = field(default_factory=list)
    """Its nodes, without those of functions and classes inside."""

    @property
    def decorators(self) -> list[str]:
        """The last parts of the names of its decorators."""
        if isinstance(self.node, ast.Lambda):
            return []
        called = [d.func if isinstance(d, ast.Call) else d for d in self.node.decorator_list]
        return [ast.unparse(decorator).rpartition(".")[2] for decorator in called]

    @property
    def is_property(self) -> bool:
        return any("property" in name or name == "getter" for name in self.decorators)

    @property
    def parameters(self) -> list[ast.arg]:
        arguments = self.node.args
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]

    @property
    def has_self(self) -> bool:
        return self.of_class is not None and "staticmethod" not in self.decorators


@dataclass(slots=True)
class Class:
    """A class of ours."""

    name: str
    node: ast.ClassDef
    module: "Module"
    methods: dict[str, Function] = field(default_factory=dict)
    annotations: dict[str, ast.expr] = field(default_factory=dict)
    assigned: dict[str, list[tuple[Function, ast.expr]]] = field(default_factory=dict)
    """What methods assign to an attribute."""
    values: dict[str, Type] = field(default_factory=dict)
    """The functions that others assign to an attribute."""
    children: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Module:
    """A module of ours."""

    name: str
    tree: ast.Module
    imports: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    assigned: dict[str, tuple[ast.expr | None, ast.expr | None]] = field(default_factory=dict)
    """Annotation and value of a name of the module."""


def _bind(
    bindings: dict[str, list[tuple[str, ast.expr]]], target: ast.expr, how: str, value: ast.expr
) -> None:
    if isinstance(target, ast.Name):
        bindings.setdefault(target.id, []).append((how, value))
    elif isinstance(target, ast.Starred):
        _bind(bindings, target.value, f"{how}*", value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for place, part in enumerate(target.elts):
            _bind(bindings, part, f"{how}.{place}", value)


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function, without those of functions and classes inside."""
    inner: list[ast.AST] = []
    if isinstance(node, ast.Lambda):
        inner = [node.body]
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        inner = list(node.body)
    while inner:
        found = inner.pop()
        yield found
        if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            inner.extend(found.decorator_list)
            continue
        if not isinstance(found, ast.Lambda):
            inner.extend(ast.iter_child_nodes(found))


class Names:
    """All modules, classes and functions of some sources."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        """`sources` has the text of each module by its name."""
        self.modules: dict[str, Module] = {}
        self.classes: dict[str, Class] = {}
        self.functions: dict[str, Function] = {}
        self.by_method: dict[str, list[Function]] = {}
        self._busy: set[tuple[object, ...]] = set()
        self._known: dict[tuple[object, ...], Type] = {}
        self._annotated: dict[tuple[int, str | None], Type] = {}
        self._parsed: list[ast.expr] = []
        self._cycles = 0
        for name, text in sources.items():
            self._add_module(name, ast.parse(text))
        for found in self.classes.values():
            for base in self.bases(found):
                base.children.add(found.name)

    def _add_module(self, name: str, tree: ast.Module) -> None:
        module = self.modules[name] = Module(name, tree)
        self._add_statements(module, tree.body)

    def _add_statements(self, module: Module, body: list[ast.stmt]) -> None:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                function = self._add_function(statement.name, statement, module, None, None)
                module.functions[statement.name] = function
            elif isinstance(statement, ast.ClassDef):
                self._add_class(module, statement, statement.name)
            elif isinstance(statement, (ast.Import, ast.ImportFrom)):
                module.imports.update(_imported(statement))
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                module.assigned[statement.target.id] = statement.annotation, statement.value
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        module.assigned[target.id] = None, statement.value
            elif isinstance(statement, (ast.If, ast.Try)):
                self._add_statements(module, [*statement.body, *statement.orelse])

    def _add_class(self, module: Module, node: ast.ClassDef, qualified_name: str) -> None:
        found = Class(f"{module.name}.{qualified_name}", node, module)
        self.classes[found.name] = module.classes[qualified_name] = found
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                name = f"{qualified_name}.{statement.name}"
                method = self._add_function(name, statement, module, found.name, None)
                if "overload" not in method.decorators and "setter" not in method.decorators:
                    found.methods[statement.name] = method
                    self.by_method.setdefault(statement.name, []).append(method)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found.annotations[statement.target.id] = statement.annotation
            elif isinstance(statement, ast.ClassDef):
                self._add_class(module, statement, f"{qualified_name}.{statement.name}")
        for method in list(found.methods.values()):
            for inner in (method, *method.nested.values()):
                self._note_attributes(found, inner)

    def _note_attributes(self, found: Class, method: Function) -> None:
        for node in method.nodes:
            targets: list[ast.expr] = []
            if isinstance(node, ast.Assign):
                targets = [
                    t
                    for target in node.targets
                    for t in (target.elts if isinstance(target, ast.Tuple) else [target])
                ]
            elif isinstance(node, ast.AnnAssign):
                targets = [node.target]
            for target in targets:
                if not isinstance(target, ast.Attribute) or ast.unparse(target.value) != "self":
                    continue
                if isinstance(node, ast.AnnAssign):
                    found.annotations[target.attr] = node.annotation
                if node.value is not None:  # type: ignore[attr-defined]
                    value = node.value  # type: ignore[attr-defined]
                    found.assigned.setdefault(target.attr, []).append((method, value))

    def _add_function(
        self,
        qualified_name: str,
        node: FunctionNode,
        module: Module,
        of_class: str | None,
        parent: Function | None,
    ) -> Function:
        name = f"{module.name}.{qualified_name}"
        function = Function(name, node, module, of_class, parent)
        self.functions[name] = function
        function.nodes = list(_own_nodes(node))
        for found in function.nodes:
            if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef)):
                inner = self._add_function(
                    f"{qualified_name}.<locals>.{found.name}", found, module, None, function
                )
                function.nested[found.name] = inner
            elif isinstance(found, ast.Lambda):
                place = f"{qualified_name}.<locals>.<lambda {found.lineno}:{found.col_offset}>"
                inner = self._add_function(place, found, module, None, function)
                function.lambdas[found] = inner
            elif isinstance(found, (ast.Import, ast.ImportFrom)):
                function.imports.update(_imported(found))
            else:
                _note_bindings(function, found)
        return function

    def bases(self, found: Class) -> Iterator[Class]:
        """Yield the bases of a class that are ours."""
        for base in found.node.bases:
            for atom in self.annotated(base, found.module):
                if atom[0] == "object":
                    yield self.classes[str(atom[1])]

    def mro(self, found: Class) -> Iterator[Class]:
        """Yield a class and all its bases that are ours."""
        yield found
        for base in self.bases(found):
            yield from self.mro(base)

    def descendants(self, found: Class) -> Iterator[Class]:
        """Yield all classes that inherit from a class."""
        for name in found.children:
            yield self.classes[name]
            yield from self.descendants(self.classes[name])

    # Annotations -----------------------------------------------------------------------------

    def annotated(self, node: ast.expr | None, module: Module, of_class: str | None = None) -> Type:
        """Return the type that an annotation stands for."""
        if node is None:
            return ANY
        key = (id(node), of_class)
        if key in self._annotated:
            return self._annotated[key]
        cycles = self._cycles
        found = self._read_annotation(node, module, of_class)
        if cycles == self._cycles:
            self._annotated[key] = found
        return found

    def _read_annotation(self, node: ast.expr, module: Module, of_class: str | None) -> Type:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                tree = ast.parse(node.value, mode="eval").body
                self._parsed.append(tree)  # else another one may get its id
                return self.annotated(tree, module, of_class)
            return NOTHING
        if isinstance(node, ast.BinOp):
            return self.annotated(node.left, module, of_class) | self.annotated(
                node.right, module, of_class
            )
        if isinstance(node, (ast.List, ast.Tuple)):
            return NOTHING
        if isinstance(node, ast.Subscript):
            parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            arguments = tuple(self.annotated(part, module, of_class) for part in parts)
            base = ast.unparse(node.value)
            if base in {"type", "Type"}:
                return frozenset(
                    ("class", a[1]) if a[0] == "object" else UNKNOWN for a in arguments[0]
                )
            if base in {"Final", "ClassVar", "Annotated", "Optional"}:
                return arguments[0]
            return frozenset(
                ("external", atom[1], arguments) if atom[0] == "external" else atom
                for atom in self.annotated(node.value, module, of_class)
            )
        text = ast.unparse(node)
        if text == "Self" and of_class is not None:
            return frozenset({("object", of_class)})
        if text in {"Any", "object"}:
            return ANY
        return self._named(text, module)

    def _named(self, text: str, module: Module) -> Type:
        first, _, rest = text.partition(".")
        if text in module.classes:
            return frozenset({("object", f"{module.name}.{text}")})
        if first in module.assigned:
            _annotation, value = module.assigned[first]
            key = ("alias", module.name, text)
            if key in self._busy:
                self._cycles += 1
            if value is None or key in self._busy:
                return ANY
            if isinstance(value, ast.Call):
                return ANY  # a TypeVar, or the like
            self._busy.add(key)
            try:
                if rest:
                    return self._named(f"{ast.unparse(value)}.{rest}", module)
                return self.annotated(value, module)
            finally:
                self._busy.discard(key)
        full = module.imports.get(first)
        if full is None:
            return external(text) if hasattr(builtins, first) else ANY
        full = f"{full}.{rest}" if rest else full
        return self._imported_type(full)

    def _imported_type(self, full: str) -> Type:
        if full in self.classes:
            return frozenset({("object", full)})
        owner, _, name = full.rpartition(".")
        while owner and owner not in self.modules:
            owner, _, part = owner.rpartition(".")
            name = f"{part}.{name}"
        if owner in self.modules and owner != "protocol.messages":
            return self._named(name, self.modules[owner])
        return external(full)


def _imported(node: ast.Import | ast.ImportFrom) -> dict[str, str]:
    if isinstance(node, ast.Import):
        return {(a.asname or a.name): a.name for a in node.names}
    return {(a.asname or a.name): f"{node.module}.{a.name}" for a in node.names}


def _note_bindings(function: Function, node: ast.AST) -> None:  # noqa: C901, PLR0912
    bindings = function.bindings
    if isinstance(node, ast.Assign):
        for target in node.targets:
            _bind(bindings, target, "value", node.value)
    elif isinstance(node, ast.AnnAssign):
        _bind(bindings, node.target, "annotation", node.annotation)
    elif isinstance(node, ast.NamedExpr):
        _bind(bindings, node.target, "value", node.value)
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        _bind(bindings, node.target, "element", node.iter)
    elif isinstance(node, (ast.With, ast.AsyncWith)):
        for item in node.items:
            if item.optional_vars is not None:
                _bind(bindings, item.optional_vars, "enter", item.context_expr)
    elif isinstance(node, ast.ExceptHandler) and node.name and node.type is not None:
        bindings.setdefault(node.name, []).append(("raised", node.type))
    elif isinstance(node, ast.Match):
        for case in node.cases:
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None)
                if isinstance(name, str):
                    bindings.setdefault(name, []).append(("matched", node.subject))
