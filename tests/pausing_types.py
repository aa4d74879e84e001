"""The types of expressions in our sources, from annotations, assignments and calls."""

import ast
import builtins

from tests.pausing_names import ANY, NOTHING, UNKNOWN, Atom, Function, Module, Names, Type, external

_OF_FIRST_ARGUMENT = {"list", "tuple", "sorted", "set", "frozenset", "iter", "reversed", "deque"}
_ELEMENT_OF_ARGUMENTS = {"min", "max", "next", "heappop", "heapreplace"}
_MAPPINGS = {"dict", "Mapping", "MutableMapping", "defaultdict", "OrderedDict", "Counter"}


def short(atom: Atom) -> str:
    """Return the last part of the name of a class that is not ours."""
    return str(atom[1]).rpartition(".")[2]


class Types(Names):
    """What expressions may evaluate to."""

    def resolve(self, node: ast.expr, function: Function) -> Type:
        """Return the type of an expression in a function."""
        key = ("expression", id(node), function.name)
        if key in self._known:
            return self._known[key]
        if key in self._busy:
            self._cycles += 1
            return NOTHING
        self._busy.add(key)
        cycles = self._cycles
        try:
            found = self._resolve(node, function)
        finally:
            self._busy.discard(key)
        if cycles == self._cycles:  # else it is complete only for the caller
            self._known[key] = found
        return found

    def _resolve(  # noqa: C901, PLR0912
        self, node: ast.expr, function: Function
    ) -> Type:
        match node:
            case ast.Name():
                return self._name(node.id, function)
            case ast.Attribute():
                return self.attribute(self.resolve(node.value, function), node.attr)
            case ast.Call():
                return self._call(node, function)
            case ast.Lambda():
                inner: Function | None = function
                while inner is not None:
                    if node in inner.lambdas:
                        return frozenset({("function", inner.lambdas[node].name)})
                    inner = inner.parent
                return ANY
            case ast.Subscript():
                return self._subscript(node, function)
            case ast.IfExp():
                return self.resolve(node.body, function) | self.resolve(node.orelse, function)
            case ast.BoolOp():
                return frozenset().union(*(self.resolve(v, function) for v in node.values))
            case ast.NamedExpr() | ast.Await() | ast.Starred():
                return self.resolve(node.value, function)
            case ast.List() | ast.Set() | ast.Tuple():
                parts = [self.resolve(part, function) for part in node.elts]
                if isinstance(node, ast.Tuple):
                    return external("tuple", *parts)
                return external("list", frozenset().union(*parts))
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp():
                return external("list", self.resolve(node.elt, function))
            case ast.Dict():
                values = frozenset[Atom]().union(*(self.resolve(v, function) for v in node.values))
                return external("dict", NOTHING, values)
            case ast.DictComp():
                key = self.resolve(node.key, function)
                return external("dict", key, self.resolve(node.value, function))
            case ast.BinOp():
                left = self.resolve(node.left, function)
                return left if any(a[0] == "external" for a in left) else external("result")
            case _:
                return external("result")

    def _name(self, name: str, function: Function) -> Type:
        inner: Function | None = function
        while inner is not None:
            found = self._local(name, inner)
            if found is not None:
                return found
            inner = inner.parent
        return self._global(name, function.module)

    def _local(self, name: str, function: Function) -> Type | None:
        if name in function.nested:
            return frozenset({("function", function.nested[name].name)})
        if name in function.imports:
            return self._imported_value(function.imports[name])
        found: Type | None = None
        for place, parameter in enumerate(function.parameters):
            if parameter.arg == name:
                if place == 0 and function.has_self:
                    kind = "class" if "classmethod" in function.decorators else "object"
                    return frozenset({(kind, function.of_class)})
                found = self.annotated(parameter.annotation, function.module, function.of_class)
                if isinstance(function.node, ast.Lambda):
                    found = NOTHING if function.values.get(name) else ANY
                found |= function.values.get(name, NOTHING)
        rest = function.node.args
        for argument in (rest.vararg, rest.kwarg):
            if argument is not None and argument.arg == name:
                annotation = self.annotated(argument.annotation, function.module)
                found = external("dict" if argument is rest.kwarg else "list", annotation)
        for how, value in function.bindings.get(name, ()):
            found = (found or NOTHING) | self._bound(how, value, function)
        return found

    def _bound(self, how: str, value: ast.expr, function: Function) -> Type:
        how, *places = how.replace("*", "").split(".")
        if how == "annotation":
            return self.annotated(value, function.module, function.of_class)
        if how == "raised":
            return external("exception")
        found = self.resolve(value, function)
        if how == "element":
            found = self.element(found)
        elif how == "enter":
            found = self._entered(found)
        for place in places:
            found = self._part(found, int(place))
        return found

    def _entered(self, entered: Type) -> Type:
        found: Type = NOTHING
        for atom in entered:
            if atom[0] == "object":
                found |= self.result(self.attribute(frozenset({atom}), "__enter__"))
            elif atom[0] == "external" and short(atom) in {"Iterator", "Generator"}:
                found |= self.element(frozenset({atom}))
            else:
                found |= {atom}
        return found

    def _part(self, container: Type, place: int) -> Type:
        found: Type = NOTHING
        for atom in container:
            arguments = atom[2] if atom[0] == "external" else ()
            assert isinstance(arguments, tuple)
            if atom[0] == "external" and short(atom) == "tuple" and place < len(arguments):
                found |= arguments[place]
            elif atom[0] == "object" and self.classes[str(atom[1])].annotations:
                fields = list(self.classes[str(atom[1])].annotations)
                if place < len(fields):
                    found |= self.attribute(frozenset({atom}), fields[place])
            else:
                found |= self.element(frozenset({atom}))
        return found

    def _global(self, name: str, module: Module) -> Type:
        if name in module.functions:
            return frozenset({("function", module.functions[name].name)})
        if name in module.classes:
            return frozenset({("class", f"{module.name}.{name}")})
        if name in module.assigned:
            annotation, value = module.assigned[name]
            if annotation is not None and "TypeAlias" not in ast.unparse(annotation):
                return self.annotated(annotation, module)
            key = ("global", module.name, name)
            if value is None or key in self._busy:
                return ANY
            self._busy.add(key)
            try:
                scope = Function("", ast.parse("lambda: 0", mode="eval").body, module, None, None)  # type: ignore[arg-type]
                return self.resolve(value, scope)
            finally:
                self._busy.discard(key)
        if name in module.imports:
            return self._imported_value(module.imports[name])
        return external(name) if hasattr(builtins, name) else ANY

    def _imported_value(self, full: str) -> Type:
        if full == "protocol.messages":
            return external(full)
        if full in self.modules:
            return frozenset({("module", full)})
        owner, _, name = full.rpartition(".")
        if owner in self.modules:
            return self._global(name, self.modules[owner])
        return external(full)

    # Attributes and calls ---------------------------------------------------------------------

    def attribute(self, owners: Type, name: str) -> Type:
        """Return what an attribute of such objects may be; a method is a function."""
        found: Type = NOTHING
        for atom in owners:
            match atom[0]:
                case "object" | "class":
                    found |= self._attribute_of_class(str(atom[1]), name)
                case "module":
                    found |= self._imported_value(f"{atom[1]}.{name}")
                case "external":
                    found |= self._attribute_of_external(atom, name)
                case _:
                    found |= ANY
        return found

    def methods(self, class_name: str, name: str) -> list[Function]:
        """Return the methods that a call may reach: of the class, and of those that inherit."""
        owner = self.classes[class_name]
        of_mro = next((c.methods[name] for c in self.mro(owner) if name in c.methods), None)
        of_children = [c.methods[name] for c in self.descendants(owner) if name in c.methods]
        found = [*([] if of_mro is None else [of_mro]), *of_children]
        if found and any(
            "Protocol" in ast.unparse(b) for c in self.mro(owner) for b in c.node.bases
        ):
            # Any class may have this shape.
            places = [p.arg for p in found[0].parameters]
            return [
                method
                for method in self.by_method[name]
                if len(method.parameters) == len(places) or method.node.args.defaults
            ]
        return found

    def _attribute_of_class(self, class_name: str, name: str) -> Type:
        key = ("attribute", class_name, name)
        if key in self._busy:
            return NOTHING
        self._busy.add(key)
        try:
            return self._find_attribute(class_name, name)
        finally:
            self._busy.discard(key)

    def _find_attribute(  # noqa: C901, PLR0912
        self, class_name: str, name: str
    ) -> Type:
        methods = self.methods(class_name, name)
        found: Type = NOTHING
        for method in methods:
            if method.is_property:
                found |= self.returned(method)
            else:
                found |= {("function", method.name)}
        if methods:
            return found
        owner = self.classes[class_name]
        has_external_base = False
        is_found = False
        for ours in (*self.mro(owner), *self.descendants(owner)):
            if name in ours.annotations:
                annotation = ours.annotations[name]
                found |= self.annotated(annotation, ours.module, ours.name)
                is_found = True
            for method, value in ours.assigned.get(name, ()):
                if name not in ours.annotations:
                    found |= self.resolve(value, method)
                is_found = True
            found |= ours.values.get(name, NOTHING)
            has_external_base |= any(
                a[0] == "external" for b in ours.node.bases for a in self.annotated(b, ours.module)
            )
        if is_found or found:
            return found
        if has_external_base:
            for ours in self.mro(owner):
                for base in ours.node.bases:
                    for atom in self.annotated(base, ours.module):
                        if atom[0] == "external":
                            found |= self._attribute_of_external(atom, name)
            return found
        return ANY

    def _attribute_of_external(self, atom: Atom, name: str) -> Type:
        return frozenset({("external", f"method {name}", (frozenset({atom}),))})

    def returned(self, function: Function) -> Type:
        """Return the type of what a function returns."""
        node = function.node
        if isinstance(node, ast.Lambda):
            return self.resolve(node.body, function)
        if "contextmanager" in function.decorators:
            return self.annotated(node.returns, function.module, function.of_class)
        if node.returns is None:
            return ANY
        return self.annotated(node.returns, function.module, function.of_class)

    def result(self, called: Type) -> Type:
        """Return what a call of one of these returns."""
        found: Type = NOTHING
        for atom in called:
            match atom[0]:
                case "function":
                    found |= self.returned(self.functions[str(atom[1])])
                case "class":
                    found |= {("object", atom[1])}
                case "external":
                    found |= external(f"result of {atom[1]}")
                case "object":
                    found |= self.result(self.attribute(frozenset({atom}), "__call__"))
                case _:
                    found |= ANY
        return found

    def _call(  # noqa: C901, PLR0912
        self, node: ast.Call, function: Function
    ) -> Type:
        called = self.resolve(node.func, function)
        first = node.args[0] if node.args else None
        found: Type = NOTHING
        for atom in called:
            name = short(atom) if atom[0] == "external" else ""
            if first is not None and name == "partial":
                found |= self.resolve(first, function)
            elif first is not None and name == "cast":
                found |= self.annotated(first, function.module, function.of_class)
            elif name == "super":
                inner: Function | None = function
                while inner is not None and inner.of_class is None:
                    inner = inner.parent
                if inner is not None and inner.of_class is not None:
                    for base in self.bases(self.classes[inner.of_class]):
                        found |= {("object", base.name)}
            elif first is not None and name in _OF_FIRST_ARGUMENT:
                found |= external("list", self.element(self.resolve(first, function)))
            elif first is not None and name in _ELEMENT_OF_ARGUMENTS:
                parts = [self.resolve(a, function) for a in node.args]
                found |= frozenset().union(*parts) if len(parts) > 1 else self.element(parts[0])
            elif first is not None and name == "filter":
                found |= external("list", self.element(self.resolve(node.args[1], function)))
            elif first is not None and name == "enumerate":
                inner_type = self.element(self.resolve(first, function))
                found |= external("list", external("tuple", NOTHING, inner_type))
            elif name == "zip":
                parts = [self.element(self.resolve(a, function)) for a in node.args]
                found |= external("list", external("tuple", *parts))
            elif first is not None and name == "map":
                found |= external("list", self.result(self.resolve(first, function)))
            elif first is not None and name in {"dict", *_MAPPINGS} and atom[0] == "external":
                found |= self.resolve(first, function)
            elif name == "getattr":
                found |= ANY
            elif atom[0] == "external" and str(atom[1]).startswith("method "):
                found |= self._call_of_external(atom, name.removeprefix("method "))
            elif atom[0] == "function" and self._passes(str(atom[1])) and first is not None:
                found |= self.resolve(first, function)
            else:
                found |= self.result(frozenset({atom}))
        return found

    @staticmethod
    def _passes(name: str) -> bool:
        """Return whether a function returns the items that it gets."""
        return name in {
            "protocol.pacing.paced",
            "protocol.pacing.paced_elements",
            "protocol.pacing.paced_stream",
        }

    def _call_of_external(self, atom: Atom, name: str) -> Type:
        owners: Type = atom[2][0]  # type: ignore[index]
        found: Type = NOTHING
        for owner in owners:
            arguments = owner[2]
            assert isinstance(arguments, tuple)
            if short(owner) in _MAPPINGS and len(arguments) > 1:
                if name in {"get", "pop", "setdefault"}:
                    found |= arguments[1]
                elif name == "values":
                    found |= external("list", arguments[1])
                elif name in {"items", "popitem"}:
                    pair = external("tuple", arguments[0], arguments[1])
                    found |= external("list", pair) if name == "items" else pair
                elif name == "keys":
                    found |= external("list", arguments[0])
                elif name == "copy":
                    found |= {owner}
            elif arguments and name in {"pop", "popleft"}:
                found |= self.element(frozenset({owner}))
            elif arguments and name in {"copy", "union", "difference", "intersection"}:
                found |= {owner}
        return found or external("result")

    def element(self, iterated: Type) -> Type:
        """Return what a loop over such objects gets."""
        found: Type = NOTHING
        for atom in iterated:
            if atom[0] == "external":
                arguments = atom[2]
                assert isinstance(arguments, tuple)
                if arguments and short(atom) in {*_MAPPINGS, "Generator", "AsyncGenerator"}:
                    found |= arguments[0]
                else:
                    found |= frozenset().union(*arguments) if arguments else external("result")
            elif atom[0] == "object":
                owner = self.classes[str(atom[1])]
                iterator = self.attribute(frozenset({atom}), "__iter__")
                bases = [self.annotated(b, c.module) for c in self.mro(owner) for b in c.node.bases]
                externals = frozenset(a for b in bases for a in b if a[0] == "external")
                if any(a[0] == "function" for a in iterator):
                    found |= self.element(self.result(iterator))
                elif externals:
                    found |= self.element(externals)
                else:
                    found |= ANY
            elif atom[0] == "class":
                found |= {("object", atom[1])}  # an Enum
            else:
                found |= {UNKNOWN}
        return found

    def _subscript(self, node: ast.Subscript, function: Function) -> Type:
        found: Type = NOTHING
        owners = self.resolve(node.value, function)
        for atom in owners:
            if isinstance(node.slice, ast.Slice):
                found |= {atom}
            elif atom[0] == "object":
                getter = self.attribute(frozenset({atom}), "__getitem__")
                if any(a[0] == "function" for a in getter):
                    found |= self.result(getter)
                    continue
                owner = self.classes[str(atom[1])]
                for ours in self.mro(owner):
                    for base in ours.node.bases:
                        for a in self.annotated(base, ours.module):
                            if a[0] == "external":
                                found |= self._item(a, node.slice)
            elif atom[0] == "external":
                found |= self._item(atom, node.slice)
            else:
                found |= {atom}
        return found

    def _item(self, atom: Atom, index: ast.expr) -> Type:
        arguments = atom[2]
        assert isinstance(arguments, tuple)
        if short(atom) in _MAPPINGS and len(arguments) > 1:
            item: Type = arguments[1]
            return item
        if short(atom) == "tuple" and isinstance(index, ast.Constant):
            return self._part(frozenset({atom}), index.value if isinstance(index.value, int) else 0)
        return frozenset().union(*arguments) if arguments else external("result")
