"""Sets that are iterated over in the order in which their elements were added.

A set of strings has another order in each process, because Python hashes them with a random key.
A library whose names `set` and `frozenset` are these classes has the same order everywhere. Results
of its operators and methods are ordered too; `{a, b}` makes one of Python's.
"""

import builtins
from collections.abc import Callable, Iterable, Iterator
from typing import Any


class _AnySet(type):
    """Every set of Python is an instance of these classes."""

    _python_class: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls._python_class)


class _Operators:
    """The operators of both classes, by their methods."""

    __iter__: Callable[[], Iterator[Any]]
    union: Callable[..., Any]
    difference: Callable[..., Any]
    intersection: Callable[..., Any]
    symmetric_difference: Callable[..., Any]

    def __or__(self, other: Any, /) -> Any:
        return self.union(other) if _is_set(other) else NotImplemented

    def __ror__(self, other: Any, /) -> Any:
        return OrderedSet(other).union(self) if _is_set(other) else NotImplemented

    def __sub__(self, other: Any, /) -> Any:
        return self.difference(other) if _is_set(other) else NotImplemented

    def __rsub__(self, other: Any, /) -> Any:
        return OrderedSet(other).difference(self) if _is_set(other) else NotImplemented

    def __and__(self, other: Any, /) -> Any:
        return self.intersection(other) if _is_set(other) else NotImplemented

    __rand__ = __and__

    def __xor__(self, other: Any, /) -> Any:
        return self.symmetric_difference(other) if _is_set(other) else NotImplemented

    __rxor__ = __xor__


class OrderedSet(_Operators, builtins.set[Any], metaclass=_AnySet):
    """A set in the order of its elements' arrival."""

    _python_class = builtins.set

    def __init__(self, elements: Iterable[Any] = ()) -> None:
        self._order: dict[Any, None] = dict.fromkeys(elements)
        super().__init__(self._order)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._order)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self._order))}}}" if self else "set()"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self._order),)

    def add(self, element: Any, /) -> None:
        super().add(element)
        self._order[element] = None

    def discard(self, element: Any, /) -> None:
        super().discard(element)
        self._order.pop(element, None)

    def remove(self, element: Any, /) -> None:
        super().remove(element)
        del self._order[element]

    def pop(self) -> Any:
        """Remove the oldest element and return it.

        Raises:
            KeyError: the set is empty.
        """
        if not self._order:
            raise KeyError("pop from an empty set")
        element = next(iter(self._order))
        self.remove(element)
        return element

    def clear(self) -> None:
        super().clear()
        self._order.clear()

    def copy(self) -> "OrderedSet":
        return OrderedSet(self._order)

    def update(self, *others: Iterable[Any]) -> None:
        for other in others:
            for element in list(other):
                self.add(element)

    def difference_update(self, *others: Iterable[Any]) -> None:
        for other in others:
            for element in list(other):
                self.discard(element)

    def intersection_update(self, *others: Iterable[Any]) -> None:
        self._keep(self.intersection(*others))

    def symmetric_difference_update(self, other: Iterable[Any], /) -> None:
        self._keep(self.symmetric_difference(other))

    def union(self, *others: Iterable[Any]) -> "OrderedSet":
        result = self.copy()
        result.update(*others)
        return result

    def difference(self, *others: Iterable[Any]) -> "OrderedSet":
        result = self.copy()
        result.difference_update(*others)
        return result

    def intersection(self, *others: Iterable[Any]) -> "OrderedSet":
        kept = super().intersection(*others)
        return OrderedSet([element for element in self._order if element in kept] if kept else ())

    def symmetric_difference(self, other: Iterable[Any], /) -> "OrderedSet":
        others = OrderedSet(other)
        return self.difference(others).union(others.difference(self))

    def __ior__(self, other: Any, /) -> Any:
        self.update(other)
        return self

    def __isub__(self, other: Any, /) -> Any:
        self.difference_update(other)
        return self

    def __iand__(self, other: Any, /) -> Any:
        self.intersection_update(other)
        return self

    def __ixor__(self, other: Any, /) -> Any:
        self.symmetric_difference_update(other)
        return self

    def _keep(self, kept: "OrderedSet") -> None:
        self.clear()
        self.update(kept)


class OrderedFrozenSet(_Operators, builtins.frozenset[Any], metaclass=_AnySet):
    """A frozen set in the order of its elements."""

    _python_class = builtins.frozenset
    _order: dict[Any, None]

    def __new__(cls, elements: Iterable[Any] = ()) -> "OrderedFrozenSet":
        order = dict.fromkeys(elements)
        created = super().__new__(cls, order)
        created._order = order
        return created

    def __iter__(self) -> Iterator[Any]:
        return iter(self._order)

    def __repr__(self) -> str:
        return f"frozenset({OrderedSet(self._order)!r})" if self else "frozenset()"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (list(self._order),)

    def copy(self) -> "OrderedFrozenSet":
        return self

    def union(self, *others: Iterable[Any]) -> "OrderedFrozenSet":
        return OrderedFrozenSet(OrderedSet(self).union(*others))

    def difference(self, *others: Iterable[Any]) -> "OrderedFrozenSet":
        return OrderedFrozenSet(OrderedSet(self).difference(*others))

    def intersection(self, *others: Iterable[Any]) -> "OrderedFrozenSet":
        return OrderedFrozenSet(OrderedSet(self).intersection(*others))

    def symmetric_difference(self, other: Iterable[Any], /) -> "OrderedFrozenSet":
        return OrderedFrozenSet(OrderedSet(self).symmetric_difference(other))


def _is_set(value: object) -> bool:
    return isinstance(value, builtins.set | builtins.frozenset) or hasattr(value, "isdisjoint")
