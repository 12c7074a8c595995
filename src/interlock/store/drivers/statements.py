"""Core statements compiled once to plain SQL, with the conversions of their parameters and columns.

No connection is touched here; `tx` executes what this makes.
"""

import json
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine.interfaces import Dialect
from sqlmodel import AutoString, SQLModel, UTCDateTime

from interlock.core.text import storable
from interlock.store.drivers.wire import dollars
from interlock.store.schema import table

Convert = Callable[[Any], Any]


class Statement:
    """One statement of one dialect: its SQL, and how values go in and rows come out."""

    __slots__ = ("_converts", "_fetch", "_fixed", "_make", "_order", "_out", "_texts", "_wired", "sql")

    def __init__(self, core: sa.Executable, dialect: Dialect, column_keys: list[str] | None = None) -> None:
        compiled: Any = core.compile(dialect=dialect, column_keys=column_keys)  # type: ignore[attr-defined]
        required = {n for n, bind in compiled.binds.items() if bind.required or n in (column_keys or ())}
        state = compiled.construct_expanded_state(dict.fromkeys(required))
        self.sql = state.statement
        self._order = tuple(state.positiontup or ())
        places = list(enumerate(self._order))
        converts = {n: _to_database(compiled.binds[n].type, dialect) for _, n in places if n in compiled.binds}
        self._fetch = _fetching([name for _, name in places if name in required])
        given = [(at, convert) for at, name in places if name in required and (convert := converts.get(name))]
        self._texts = [at for at, convert in given if convert is _text]
        self._converts = [(at, convert) for at, convert in given if convert is not _text]
        self._fixed = [
            (at, (converts.get(name) or _as_it_is)(state.parameters[name]))
            for at, name in places
            if name not in required
        ]
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

    def bind(self, params: Mapping[str, Any]) -> list[Any]:
        """The parameters in the driver's order and form.

        Raises KeyError for a missing one.
        """
        values = list(self._fetch(params))
        for at, value in self._fixed:
            values.insert(at, value)
        for at in self._texts:
            value = values[at]
            if type(value) is str and not (value.isascii() and "\x00" not in value):
                values[at] = storable(value)
        for at, convert in self._converts:
            values[at] = convert(values[at])
        return values

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

    __slots__ = ("_blank", "_model", "_of_rows", "_places", "_required", "unless_there", "wired_unless_there")

    def __init__(self, model: type[SQLModel], dialect: Dialect) -> None:
        target = table(model)
        columns = [c.name for c in target.columns if not _generated(c)]
        super().__init__(sa.insert(target).inline(), dialect, columns)
        self._model = model.__name__
        self.unless_there = f"{self.sql} ON CONFLICT DO NOTHING"
        self.wired_unless_there = dollars(self.unless_there)
        self._of_rows: dict[tuple[int, bool], bytes] = {}
        places = {name: (at, _to_database(target.c[name].type, dialect)) for at, name in enumerate(self._order)}
        self._places = {n: (at, None if convert is _text else convert) for n, (at, convert) in places.items()}
        self._blank: list[Any] = [None] * len(columns)
        fields: dict[str, Any] = {name: model.model_fields[name] for name in columns if name in model.model_fields}
        defaults = {n: f.get_default(call_default_factory=True) for n, f in fields.items() if not f.is_required()}
        self._required = self._places.keys() - defaults.keys()
        self._fill(self._blank, defaults)

    def bind(self, params: Mapping[str, Any]) -> list[Any]:
        """The row in the driver's order and form.

        Raises TypeError for a column that the model does not have, or a required one that is missing.
        """
        if lacking := self._required - params.keys():
            raise TypeError(f"{self._model} lacks {', '.join(sorted(lacking))}")
        try:
            return self._fill(self._blank.copy(), params)
        except KeyError:
            if unknown := params.keys() - self._places.keys():
                raise TypeError(f"{self._model} has no {', '.join(sorted(unknown))}") from None
            raise

    def wired_rows(self, count: int, *, unless_there: bool) -> bytes:
        """The insert of so many rows at once, as libpq wants it."""
        found = self._of_rows.get((count, unless_there))
        if found is None:
            row = self.sql.partition(" VALUES ")[2]
            sql = self.sql + f", {row}" * (count - 1) + " ON CONFLICT DO NOTHING" * unless_there
            found = self._of_rows[count, unless_there] = dollars(sql)
        return found

    def _fill(self, values: list[Any], params: Mapping[str, Any]) -> list[Any]:
        places = self._places
        for name, value in params.items():
            at, convert = places[name]
            if convert is not None:
                values[at] = convert(value)
            elif type(value) is not str or (value.isascii() and "\x00" not in value):
                values[at] = value
            else:
                values[at] = storable(value)
        return values


class _Made:
    """What was made of statements and models by their `id`, which is looked up without calling into them; it goes
    before its statement does, so that no other can have the same `id`."""

    def __init__(self) -> None:
        self.statements: dict[int, Statement] = {}
        self.inserts: dict[int, Insert] = {}
        self._there: dict[int, weakref.ref[Any]] = {}

    def watch(self, core: Any) -> int:
        """Forgets what was made of it when it goes; returns its `id`."""
        key = id(core)

        def gone(_: object) -> None:
            for each in (self.statements, self.inserts, self._there):
                each.pop(key, None)

        self._there[key] = weakref.ref(core, gone)
        return key


_MADE: dict[tuple[object, ...], _Made] = {}
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
        self._made = _MADE.setdefault(alike, _Made())
        self._statements, self._inserts = self._made.statements, self._made.inserts

    def of(self, core: sa.Executable) -> Statement:
        """The compiled form of a statement; module-level statements are compiled once."""
        found = self._statements.get(id(core))
        if found is None:
            made = Statement(core, self.dialect)
            found = self._statements[self._made.watch(core)] = made
        return found

    def insert(self, model: type[SQLModel]) -> Insert:
        """The insert of a whole row of a model."""
        found = self._inserts.get(id(model))
        if found is None:
            made = Insert(model, self.dialect)
            found = self._inserts[self._made.watch(model)] = made
        return found


def _fetching(names: list[str]) -> Callable[[Mapping[str, Any]], tuple[Any, ...]]:
    """What takes the values of these names out of a mapping, in their order."""
    if len(names) > 1:
        return itemgetter(*names)
    return lambda params: tuple([params[name] for name in names])


def _to_database(kind: Any, dialect: Dialect) -> Convert | None:
    convert: Convert | None = kind.dialect_impl(dialect).bind_processor(dialect)
    if isinstance(kind, UTCDateTime) and convert is not None:
        return _WRITTEN if dialect.name == "sqlite" else _remembering(convert)
    if isinstance(kind, sa.JSON) and convert is not None and dialect.name == "sqlite":
        return _json(convert, dialect)
    if isinstance(kind, sa.Boolean) and dialect.name == "sqlite":
        return _BITS.__getitem__
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
    """The same, which knows the last two: a moment is many columns' time, beside the one at which a run began."""
    last: tuple[Any, Any] = (None, convert(None))
    before = last

    def remembered(value: Any) -> Any:
        nonlocal last, before
        if value is last[0]:
            return last[1]
        if value is before[0]:
            return before[1]
        last, before = (value, convert(value)), last
        return last[1]

    return remembered


def _json(convert: Convert, dialect: Dialect) -> Convert:
    """The same for what JSON is made of, past the questions for SQL's own null."""
    write: Convert = getattr(dialect, "_json_serializer", None) or json.dumps
    nothing = convert(None)

    def written(value: Any) -> Any:
        if not value and (kind := type(value)) in _EMPTY:
            return _EMPTY[kind]
        return write(value) if type(value) in _PLAIN else nothing if value is None else convert(value)

    return written


def _as_it_is(value: Any) -> Any:
    return value


_BITS = {True: 1, False: 0, None: None}
_EMPTY: dict[type, str] = {dict: "{}", list: "[]"}
_PLAIN = (dict, list, str, int, float, bool)
_WRITTEN = _remembering(_moment)


def _text(value: Any) -> Any:
    return storable(value) if type(value) is str else value


def _generated(column: sa.Column[Any]) -> bool:
    return column.table.autoincrement_column is column
