"""Core statements compiled once to plain SQL, with the conversions of their parameters and columns.

No connection is touched here; `tx` executes what this makes.
"""

from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from weakref import WeakKeyDictionary

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect
from sqlmodel import AutoString, SQLModel, UTCDateTime

from interlock.core.text import storable
from interlock.store.schema import table
from interlock.store.wire import dollars

Convert = Callable[[Any], Any]
MISSING: Any = object()


class Statement:
    """One statement of one dialect: its SQL, and how values go in and rows come out."""

    __slots__ = ("_bind", "_make", "_out", "_wired", "sql")

    def __init__(self, core: sa.Executable, dialect: Dialect, column_keys: list[str] | None = None) -> None:
        compiled: Any = core.compile(dialect=dialect, column_keys=column_keys)  # type: ignore[attr-defined]
        required = {n for n, bind in compiled.binds.items() if bind.required or n in (column_keys or ())}
        state = compiled.construct_expanded_state(dict.fromkeys(required))
        self.sql = state.statement
        self._bind: list[tuple[str, Convert | None, bool, Any]] = []
        for name in state.positiontup or ():
            bind = compiled.binds.get(name)
            convert = _to_database(bind.type, dialect) if bind is not None else None
            fixed = None if name in required else state.parameters[name]
            self._bind.append((name, convert, name in required, fixed if convert is None else convert(fixed)))
        self._make, self._out = self._row_maker(core, dialect)
        self._wired: bytes | None = None

    @property
    def wired(self) -> bytes:
        """Its SQL as libpq wants it."""
        if self._wired is None:
            self._wired = dollars(self.sql)
        return self._wired

    @staticmethod
    def _row_maker(core: Any, dialect: Dialect) -> tuple[Any, list[tuple[int, Convert]]]:
        columns = getattr(core, "exported_columns", None)
        if not columns:
            return None, []
        names = [key for key, _ in columns.items()]
        out = []
        for position, (_, column) in enumerate(columns.items()):
            if isinstance(column.type, sa.Float):
                continue  # both drivers give floats, and SQLAlchemy's psycopg dialect asks for a wire type here
            convert = column.type.dialect_impl(dialect).result_processor(dialect, None)
            if convert is not None:
                out.append((position, convert))
        row_type: Any = namedtuple
        return row_type("Row", names, rename=True)._make, out

    def bind(self, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """The parameters in the driver's order and form.

        Raises KeyError for a missing one.
        """
        return tuple(
            [
                (params[name] if convert is None else convert(params[name])) if required or name in params else fixed
                for name, convert, required, fixed in self._bind
            ]
        )

    def row(self, raw: Iterable[Any]) -> Any:
        """A named tuple of a driver's row."""
        if not self._out:
            return self._make(raw)
        values = list(raw)
        for position, convert in self._out:
            values[position] = convert(values[position])
        return self._make(values)


class Insert(Statement):
    """The insert of a whole row of a model; columns that are left out take the model's defaults."""

    __slots__ = ("_columns", "_model", "unless_there", "wired_unless_there")

    def __init__(self, model: type[SQLModel], dialect: Dialect) -> None:
        target = table(model)
        super().__init__(sa.insert(target).inline(), dialect, [c.name for c in target.columns if not _generated(c)])
        self._model = model.__name__
        self.unless_there = f"{self.sql} ON CONFLICT DO NOTHING"
        self.wired_unless_there = dollars(self.unless_there)
        self._columns: list[tuple[str, Convert | None, Any, Callable[[], Any] | None]] = []
        for name, convert, _, _ in self._bind:
            field: Any = model.model_fields[name]
            fixed = MISSING
            if field.default_factory is None and not field.is_required():
                fixed = field.default if convert is None else convert(field.default)
            self._columns.append((name, convert, fixed, field.default_factory))

    def bind(self, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """The row in the driver's order and form.

        Raises TypeError for a column that the model does not have, or a required one that is missing.
        """
        out, given = [], 0
        for name, convert, fixed, factory in self._columns:
            if name in params:
                given += 1
                out.append(params[name] if convert is None else convert(params[name]))
            elif factory is not None:
                out.append(factory() if convert is None else convert(factory()))
            elif fixed is not MISSING:
                out.append(fixed)
            else:
                raise TypeError(f"{self._model} lacks {name}")
        if given != len(params):
            unknown = params.keys() - {name for name, *_ in self._columns}
            raise TypeError(f"{self._model} has no {', '.join(sorted(unknown))}")
        return tuple(out)


Made = WeakKeyDictionary[Any, Statement]
_MADE: dict[tuple[object, ...], Made] = {}
"""By what a dialect makes of statements. Compiling is pure, and takes a millisecond for each of hundreds."""


class Statements:
    """The compiled statements of one dialect, made on first use, each for as long as there is what it was made of.

    A statement of a module is compiled once in a process, whichever stores it is used on. One that was put together
    for a single question is let go with the question: kept, it would be a weight on each look for garbage, which stands
    everything still.
    """

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        alike = (type(dialect), dialect.paramstyle, getattr(dialect, "_json_serializer", None))
        self._made = _MADE.setdefault(alike, WeakKeyDictionary())

    def of(self, core: sa.Executable) -> Statement:
        """The compiled form of a statement; module-level statements are compiled once."""
        found = self._made.get(core)
        if found is None:
            found = self._made[core] = Statement(core, self.dialect)
        return found

    def insert(self, model: type[SQLModel]) -> Insert:
        """The insert of a whole row of a model."""
        found = self._made.get(model)
        if not isinstance(found, Insert):
            found = self._made[model] = Insert(model, self.dialect)
        return found


def _to_database(kind: Any, dialect: Dialect) -> Convert | None:
    convert: Convert | None = kind.dialect_impl(dialect).bind_processor(dialect)
    if isinstance(kind, UTCDateTime) and convert is not None:
        return _remembering(_moment if dialect.name == "sqlite" else convert)
    is_text = isinstance(kind, AutoString | sa.String)
    return _text if is_text and convert is None else convert


def _moment(value: datetime | None) -> str | None:
    """A time as SQLAlchemy writes it for SQLite, in a tenth of its time.

    Raises ValueError for one without a time zone.
    """
    if value is None:
        return None
    if value.tzinfo is not UTC:
        if value.utcoffset() is None:
            raise ValueError(f"`{value}` is naive: times are in a timezone")
        value = value.astimezone(UTC)
    return value.isoformat(" ", "microseconds")[:26]


def _remembering(convert: Convert) -> Convert:
    """The same, which does not convert a value again that it has just converted: one moment is many columns' time."""
    last: tuple[Any, Any] = (None, convert(None))

    def remembered(value: Any) -> Any:
        nonlocal last
        known, made = last
        if value is not known:
            made = convert(value)
            last = (value, made)
        return made

    return remembered


def _text(value: Any) -> Any:
    return storable(value) if type(value) is str else value


def _generated(column: sa.Column[Any]) -> bool:
    return column.table.autoincrement_column is column
