"""What a random program is made of: templates, by the kind of value that they give.

``$int`` in a template stands for an expression of that kind, ``$to_int`` for a variable that is
assigned one, ``$var_int`` for a variable that holds one. A template that stands twice is chosen
twice as often. What needs a name of its own (a comprehension, a loop) is made in ``maker``.
"""

from __future__ import annotations


def _listed(templates: str) -> tuple[str, ...]:
    """Templates that stand two blanks apart."""
    lines = (line.split("  ") for line in templates.splitlines())
    return tuple(each.strip() for line in lines for each in line if each.strip())


VARIABLES = ("int", "bool", "str", "list", "dict", "opt", "obj", "conf")
"""The kinds that variables have: ``opt`` may be None, ``list`` holds integers, ``dict`` has texts
for keys and integers for values, ``obj`` is a ``Base`` or below it, ``conf`` a ``Config``."""

LITERALS: dict[str, tuple[str, ...]] = {
    "int": ("$digit",),
    "bool": ("True", "False"),
    "str": ("''", "'a'", "'bc'", "'one'", "'fast'"),
    "list": ("[]", "[$digit]", "[$digit, $digit]", "[$digit, $digit, $digit]"),
    "dict": ("{}", "{'a': 1}", "{'one': 2, 'bc': 3}"),
    "opt": ("None", "1"),
    "obj": ("Base(1)", "Derived(2, [1])", "Blend(0)"),
    "conf": ("Config()", "Config(size=2)", "Box(size=1)"),
    "tuple": ("()", "(1, 2)", "(3,)"),
    "set": ("{1, 2}", "set()", "{5}"),
    "items": ("range(2)",),
    "number": ("0", "1", "2", "3"),
    "digit": tuple(map(str, range(-3, 10))),
    "key": ("'size'", "'nope'", "'extra'", "'xyz'"),
    "exception": ("ValueError('no')", "Odd('odd')", "KeyError('k')", "IndexError", "TypeError('t', 1)"),
    "caught": ("ValueError", "(KeyError, IndexError)", "Exception", "LookupError", "Odd"),
}
"""Where an expression gets too deep: something plain of each kind."""

EXPRESSIONS: dict[str, tuple[str, ...]] = {
    "int": _listed(
        """
        ($int + $int)  ($int - $int)  ($int * $int)  $digit  $digit  ($int // ($int or 2))  ($int % 3)
        ($int // 2)  ($int % ($int or 2))  -$int  abs($int)  ~$int  ($int & 6)  ($int | $int)  ($int ^ 5)
        (1 << $number)  len($list)  len($str)  len($dict)  len($obj.items)  len($tuple)  len($set)
        ($int if $bool else $int)  sum($list)  sum($generator)  max($list, default=$int)  min($int, $int)
        max($int, $int, key=lambda q: -q)  sum($tuple, $int)  max($set | {0})  ($list or [4])[0]
        ($list or [4])[-1]  $list[$int % 2]  $list[0]  ($list or [1]).pop()  $tuple[-1]  (*$tuple, 9)[0]
        $obj[0]  $dict.get($str, $int)  $dict[$str]  $dict.get($str, 0) + 1  $dict.setdefault($str, $int)
        ($opt or $int)  ($opt if $opt is not None else $int)  next(iter($list), $int)  $obj.size
        $obj.double  $obj.shared  $obj.extra  $obj.total  $obj.made  $obj.nope  getattr($obj, $key, $int)
        getattr($obj, $key)  $obj.add($int)  $obj.add($int, 1)  $obj.add($int, times=2)  $obj.twice($int)
        Base.twice($int)  Derived.shared  vars($obj)['size']  next(($generator), $int)  count()  count(2)
        collect($int)  helpers.LIMIT  helpers.count(3)  risky($int * 15 + 1)  risky($int * 15 + 2)
        risky($int)  wrapped($int)  depth($int)  named($int)  named($int, $int, c=$int)
        named($int, z=$int)  named(*$tuple)  named(1, **$dict)  (lambda q, r=2: q + r)($int)
        functools.partial(named, $int)(c=$int)  $walrus  int('7')  int(str($int))  int($str)  int($bool)
        round($int / 2)  divmod($int, 3)[1]  $list.count($int)  ([*$list, 3]).index(3)  $list.index($int)
        $str.find('a')  Point($int, $int).norm  Point($int).y  Spot($int, z=$int).z  Pair($int).right
        Pair(1, $int)[1]  Kind.LEFT.value  Kind(1).value  sizes.get($str, 0)  len(NAMES)
        Blend($int)($int)  (Blend($int) + $int)  [$int for _ in range(2)][1]
        list(enumerate($list, $int))[0][0]
        $conf.size  $conf['size']  $conf.get('alias', $int)  getattr($conf, $key, $int)
        len($conf.to_dict())  copy.copy($conf).size  Level.HIGH + $int  int(Level.of($int))
        Level.of($int).other.value  Frozen.of($list).first  dataclasses.replace(Point($int), y=$int).norm
        sum(drip($list, $list))  next(drip($list, $var_list), $int)  sum(both($list, $var_list))
        sum(Down($number))  next(Down($int), $int)  kept($int)[0]  len(kept($int))  counter($int)(2)
        functools.partial(max, $int)($int)  (lambda *p, **k: len(p) - len(k))(*$list, **$dict)
        min([1, *$list], key=lambda q: (q % 3, -q))  len(f'{$var_int:>{$number}}')
        sum(first for first, *_ in [$list or [1], [2, 3]])  [*range($number), $int][-1]
        """
    ),
    "bool": _listed(
        """
        $int < $int  $int <= $int  $int > $int  $int >= $int  $int == $int  $int != $int
        ($bool and $bool)  ($bool or $bool)  (not $bool)  $int < $int < $int  $int == $int != $int
        $int in $list  $int not in $list  $str in $dict  $int in $tuple  $int in $set  $str in $str
        $opt is None  $opt is not None  $opt  $list == $list  $tuple == $tuple  $tuple < $tuple
        any($conditions)  all($conditions)  $set <= $set  $dict == $dict  $obj == $obj
        isinstance($obj, Derived)  isinstance($int, int)  isinstance($opt, (str, Base))  callable($obj)
        hasattr($obj, 'extra')  hasattr($obj, 'xyz')  issubclass(type($obj), Derived)  type($obj) is Base
        bool($list)  bool($str)  bool($dict)  bool($opt)  bool($obj)  bool($int)
        Kind($int % 2 + 1) is Kind.LEFT  Kind(2) == Kind.LEFT  $str == Mode.FAST
        Mode('fast') in (Mode.SLOW, $str)  $str.startswith($str)  $str.isdigit()  $int in $obj.items
        $int in Derived(1, $list)  Point($int) == Point($int)  Pair($int) == ($int, 4)  $str < $str
        $obj in [$obj]  bool($conf)  not $conf  (Level.of($int) is Level.HIGH)  Level.LOW < Level.of($int)
        Frozen.of($list) == Frozen.of($list)  $conf is $conf  $int < $int <= $int != $int
        'size' in vars($conf)
        """
    ),
    "str": _listed(
        """
        ($str + $str)  ($str * 2)  str($int)  str($list)  repr($str)  f'{$var_int:>3}'  f'<{$var_opt}>'
        f'<{$var_str!r}>'  f'{$var_list}{$var_bool}'  '%s-%d' % ($str, $int)  '{}:{}'.format($int, $str)
        $str.upper()  $str.strip()  $str.title()  $str.replace('a', 'b')  $str.removesuffix('e')
        ', '.join(str(p) for p in $list)  ', '.join(map(str, $list))  $str.split('n')[0]  '-'.join($dict)
        $str[:1]  $str[1:]  $str[::-1]  $str[-2:]  ($str or 'z')[0]  $str.partition('n')[2]
        $obj.describe()  type($obj).__name__  NAMES[0]  NAMES[$int % 3]  helpers.NAMES[-1]
        Mode.FAST.value  Kind.RIGHT.name  Mode('slow').name  str(Kind.LEFT)  next(iter($dict), $str)
        ($str if $bool else $str)  f'{$var_int:+05d}'  f'{$var_int!r:>4}'  f'{$var_str:^{$number}}|'
        f'{$var_int / 2:.2f}'  f'{$var_str=}'  f'{$var_conf:x}'  f'{$var_conf}'  '{k:03d}'.format(k=$int)
        '%(k)s' % {'k': $int}  '%5.1f|%x' % ($int, abs($int))  $conf.kind  Box.kind  Level.of($int).name
        str(Level.LOW)  type($conf).__name__
        """
    ),
    "list": _listed(
        """
        [$int, $int]  [$generator]  ($list + $list)  [*$list, $int]  ($list * 2)  ([$int] * $number)
        sorted($list)  sorted($list, reverse=True)  sorted($list, key=lambda q: -q)  sorted($set)
        list($items)  list($tuple)  list($dict.values())  list(reversed($list))  $list.copy()  $list[:2]
        $list[1:]  $list[::-1]  $list[::2]  $list[$int:]  $list[:]  $list[-2:$int]  $obj.items
        Blend(1, $list).items  copy.copy($list)  copy.deepcopy($list)  Point(1, 2, $list).tags
        [x for x, y in zip($list, $list) if x != y]  [i for i, x in enumerate($list) if x]
        list(map(lambda q: q * 2, $list))  list(filter(None, $list))  list(filter(lambda q: q > 1, $list))
        [p for row in [$list, $list] for p in row]  list(itertools.chain($list, $items))
        list(itertools.islice($list, $number, None))  ($list if $bool else $list)  ($list or $list)
        [len(k) for k in $dict]  list(numbers($number))  list(drip($list, $var_list))
        [*both($list, $var_list)]  list(Down($number))  list(Frozen.of($list).ids)  kept($int)
        [f(1) for f in [lambda q, i=i: q + i for i in $list]]  [f() for f in [lambda: i for i in $list]]
        (lambda *p: list(p))(*$list)  $list[$number::2]  $list[::-2]  [*$list[1:], *$tuple]
        ([x for x in numbers($number) if x] or $list)  [step(q) for step in [counter($int)] for q in $list]
        """
    ),
    "dict": _listed(
        """
        {$str: $int}  {**$dict, $str: $int}  {str(q): q for q in $list}  dict($dict, z=$int)
        dict(zip($str, $list))  dict($dict)  ($dict | $dict)  {k: v for k, v in $dict.items() if v > $int}
        dict.fromkeys($str, $int)  ($dict if $bool else $dict)  copy.deepcopy($dict)
        Config(size=$int).to_dict()  Config(**$dict).to_dict()  Frozen.of($list).table
        {**$dict, **{'a': $int}}  dict(sorted($dict.items()))  {k: v for k, v in zip('abc', $list)}
        """
    ),
    "opt": _listed(
        """
        None  $int  (None if $bool else $int)  $dict.get($str)  optional($opt, $int)  $obj.log
        optional($opt, $int, $int, key=$str)  optional($opt, *$list)  optional($int, **$dict)
        $dict.pop($str, None)  getattr($obj, $key, None)  next(iter($list), None)
        max($list, default=None)
        """
    ),
    "obj": _listed(
        """
        Base($int)  Base($int, items=$list)  Derived($int, $list)  Derived.make($int)  Blend.make($int)
        Derived($int, extra=$int)  Blend($int, $list)  Blend($int, extra=$int)  ($obj if $bool else $obj)
        copy.copy($obj)  copy.deepcopy($obj)
        """
    ),
    "conf": _listed(
        """
        Config(size=$int)  Config(**$dict)  Box(size=$int)  Box(a=$int)  ($conf if $bool else $conf)
        copy.copy($conf)  copy.deepcopy($conf)  ($conf or $conf)
        """
    ),
    "tuple": _listed(
        """
        ($int, $int)  ($int,)  tuple($list)  (*$list, $int)  ($tuple + $tuple)  $tuple[1:]
        divmod($int, 2)  tuple(sorted($set))  tuple($generator)  ($obj.describe(), $int)  Pair($int, $int)
        """
    ),
    "set": _listed(
        """
        {$int, $int}  {*$list, *$tuple}  {*$list}  set($list)
        ($set | $set)  ($set & $set)  ($set - {$int})  {q % 2 for q in $list}
        """
    ),
    "items": _listed(
        """
        range(3)  range($int % 4)  range($int, $int % 5)  reversed($list)  $list  $list  $tuple
        itertools.islice($list, $number)  $dict.values()  numbers($number)  map(abs, $list)  iter($list)
        drip($list, $var_list)  both($list, $var_list)  Down($number)  (q for q in $list if q)
        """
    ),
}

SIMPLE = _listed(
    """
    $to_int = $int  $to_int = $int  $to_int = $int  $to_list = $list  $to_list = $list  $to_bool = $bool
    $to_str = $str  $to_dict = $dict  $to_opt = $opt  $to_obj = $obj  $to_obj = $obj  $var_int += $int
    $var_int -= $int  $var_list += $list  $var_list += list($items)  $var_str += $str  $var_list *= 2
    $var_dict |= $dict  $var_int //= ($int or 1)  $to_int, $to_int = $int, $int
    $to_int, *$to_list = $list or [2]  $to_int, $to_int = $list
    [$to_int, ($to_int, $to_int)] = $int, ($int, $int)  $to_list = $to_list = $list  $to_list = $var_list
    $to_list = $var_list if $bool else $list  $to_obj = Base(1, $var_list)  $list.append($int)
    $var_list.append($int)  $var_list.extend(tuple($items))  $var_list.insert($number, $int)
    $var_list.pop() if $var_list else 0  $var_list.pop(0)  $var_list.remove($int)  $var_list.sort()
    $var_list.reverse()  $var_list.clear()  $var_list[:1] = [$int]  $var_list[0] = $int
    $var_list[-1] = $int  $var_list[1:] = $list  del $var_list[:1]  $var_list[$int % 2] += $int
    $var_dict[$str] = $int  $var_dict.update($dict)  $var_dict.update(z=$int)  $var_dict.pop($str, None)
    $var_dict.setdefault($str, $int)  del $var_dict[$str]  $var_dict[$str] = $var_dict.get($str, 0) + 1
    $obj.add($int)  $obj.size = $int  $obj.double = $int  $obj.extra += $int  $obj.size += $int
    setattr($obj, 'size', $int)  del $obj.extra  $obj.__class__.shared = $int  Derived.shared += 1
    count($int)  collect($int)  wrapped($int)  NAMES.append($str)  sizes[$str] = $int  reset()
    assert $bool or $bool or $bool, 'no'
    $to_conf = $conf  $to_conf = $conf  $var_conf += $int  $conf.alias = $int  $conf['size'] = $int
    $conf.size -= 1  setattr($conf, $key, $int)  del $conf.size  del $var_list[::2]
    $var_list[$number:] = $items  $to_int = $to_int = $int  kept($int).append($int)
    $to_int, ($to_int, *$to_list) = $int, $list or [1]
    """
)
"""Statements of one line."""
