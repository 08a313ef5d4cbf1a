"""What stands around a word, and where a word of the lists does not mean what it is listed for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from active_critic.probes._sentences import plain
from active_critic.probes._words import BASES, PASTS, THIRDS, several

BEFORE_NOUN = several(
    """
    a an the his her its my our their your this that these those of in on at by for from with many some no any and
    or two three four five s
    """
)
"""Words behind which one that could be a verb is probably a noun."""
DETERMINERS = several("a an the his her its my our their your this that these those each every another any some s")
BEFORE_BASE = several(
    """
    can can't cannot could couldn't did didn't do does doesn't don't may might must n't shall should shouldn't to
    will won't would wouldn't
    """
)
SUBJECTS = several("i you he she it we they who")
AUXILIARIES = several(
    """
    am is are was were be been has have had does do did can could may might must shall should will would
    """
)
PREPOSITIONS = several(
    """
    about after as at before between by during for from in into near of on onto or over than through to toward
    towards under until with without and have has had play plays played go goes went like likes no
    """
)
ALSO_NOUNS = several(
    """
    answers attacks builds buys calls catches changes charges claims closes cooks costs covers cries dances deals
    dies draws drinks drives ends fails falls feels fights finds finishes flies forces helps hides holds hopes joins
    jumps kills kisses leads leaves likes lives looks loves means meets misses moves needs notices offers opens
    orders passes plans plays promises pulls pushes releases remains replies reports returns rides rises runs saves
    scores searches shakes shares shoots shouts shows signs smells smiles stands starts stays steals stops strikes
    studies supports talks tears throws travels tries turns uses visits waits wakes walks wants watches wins wishes
    wonders works worries
    """
)
"""Third persons singular that may be nouns."""
ADVERBS = several(
    """
    all almost already also always away back badly both ever even first hard here however just last later long maybe
    much n't never nearly not now often once only perhaps quite rather really since so soon still then there though
    thus today together too twice very well yesterday yet
    """
)
"""Adverbs that can stand between "be" or "have" and a participle, or a subject and its verb."""
_NO_ADVERBS = several("apply assembly belly bully butterfly comply family imply italy jelly july rally reply supply")
_NEGATIVE = re.compile(
    r"(?i)\b(?:not|no|none|never|nothing|nobody|nowhere|nor|neither|hardly|barely|scarcely|rarely|seldom|without|cannot)\b"
    r"|n['’]t\b"
)


def previous_word(sentence: str, spot: re.Match[str]) -> str:
    """The word before, in small letters; empty at the beginning and behind punctuation."""
    found = re.search(r"([^\W_]+(?:['’-][^\W_]+)*)\s+$", sentence[max(0, spot.start() - 40) : spot.start()])
    return found.group(1).lower().replace("’", "'") if found else ""


def next_word(sentence: str, spot: re.Match[str]) -> str:
    """The word behind, in small letters; empty at the end and before punctuation."""
    found = re.match(r"\s+([^\W_]+(?:['’-][^\W_]+)*)", sentence[spot.end() : spot.end() + 40])
    return found.group(1).lower().replace("’", "'") if found else ""


def before_adverbs(sentence: str, spot: re.Match[str]) -> str:
    """The last word before it that is no adverb, in small letters; empty where there is none, or behind punctuation."""
    clause = re.split(r"[^\w\s'’-]", sentence[max(0, spot.start() - 80) : spot.start()])[-1]
    for word in reversed(clause.lower().replace("’", "'").split()):
        if word not in ADVERBS and not is_adverb(word):
            return word
    return ""


def is_adverb(word: str) -> bool:
    """Whether it ends as adverbs of manner do."""
    return len(word) > 4 and word.endswith("ly") and word not in _NO_ADVERBS


def negative(sentence: str) -> bool:
    """Whether it has a word that denies."""
    return _NEGATIVE.search(sentence) is not None


def stated(words: Sequence[str]) -> bool:
    """Whether one of these words is a verb that makes a statement of them, as far as the lists know."""
    return any(
        word in AUXILIARIES
        or word in THIRDS
        or word in PASTS
        or (word in BASES and before in SUBJECTS)
        or (len(word) > 4 and word.endswith("ed") and not word.endswith("eed"))
        for before, word in zip(["", *words], words, strict=False)
    )


Limits = Mapping[str, tuple[frozenset[str], frozenset[str]]]


def _limits(text: str) -> Limits:
    """``"word word: before / behind; ..."``: words before and behind which these are something else."""
    made = {}
    for entry in " ".join(text.split()).split("; "):
        words, _, around = entry.partition(": ")
        before, _, behind = around.partition("/")
        for word in words.split():
            made[word] = (several(before), several(behind))
    return made


LIMITS = _limits(
    """
    able: / bodied; above: all / all average; after: day hour look looked looking looks minute month named one run
    soon take taken takes taking time took week year / all that; again: once time; alive: / and; allowed began
    begins married needed: / to; also: but not / known called; always often: as how; area: bay; ate eat: / out up;
    bad: feel feeling feels felt not so too; banned: / from; baseball basketball football: fantasy; before: as day
    ever long never night / long; best: at d did do does had have her his its my our s their the your / friend
    friends known man of; better: d had the ve you / be get go keep know not off stay; big: lost / apple ben; boat
    boats bus car plane: by; buy: good; cake: of piece; cat: pussy; cheap: / shot; church: / of road street; city
    letter success tower town university women young: / of; coffee: / cup party shop table; cold: a common / blooded
    war; company: in keep her his my your / of; correct empty: to; day: all every first good great independence last
    match new one present s same some that the these this to valentine / after by in job to; dead: drop the / end
    of; dinner lunch breakfast: / party table time; doctor: to; dog: hot; earlier later: no or sooner / on; early:
    as / on; easy: going take taken takes taking took; ended ends: never / in up with; fast: hold holds / asleep
    food forward; few: a every last next past quite the very; first: at / aid and class hand lady minister name
    names of; food: fast; friend friends: best; german french italian: / toast fries; girl: / scouts; good: any as
    be do for so very / at bye deal enough evening faith for friday luck many morning night riddance will; google: /
    maps; great: a / britain deal eastern grandfather grandmother lakes many wall western; guilty: / of pleasure;
    hate love loves likes: in / of; helped: / out; high: / chair court profile school schools street; hot: / dog
    dogs; house: full opera the white / of party; idea: any no; increase: / in; inside: from / out; job: / good
    great nice steve; large: at; late: of; less: even much more no / and of or; likely: as; little million billion:
    a; lived lives: / a alone an and by long of out the through to up with; loved: / one ones; low: / key; man: iron
    spider super / city of u united utd; manchester: / city u united utd; many: a as good great how not so too / a
    more of; match: a any no up / for of up; meet met: / up with; men: / of in; minister: prime / of; month week
    year: a each every once one per / old; months weeks years days: / ago old; more: and any anything even never no
    once some what / and of or to; morning evening afternoon: good early late tomorrow; near: no nowhere the; never:
    but / a again been before ever even mind once the; now: from just right until / and on that; older: no the;
    open: an / ended minded; opened team: / up; park: / ranger rangers; phone: by on over the / bill book call calls
    company line lines number numbers operator; place: in take taken takes taking took; poor: / thing; possible: as
    if where; president: vice / of; private: / eye; public: / about and at for has house in is of school that to was
    will; quiet: be to; really: not; restaurant: / called named; rising: / star; safe: better / to; said say says
    told: / about goodbye hello hi no not of so to yes; school: elementary grade grammar high law medical middle old
    primary secondary / of; serve serves: / as on to up; ship train: i they to we you; showed: / off up; small: /
    talk; started: get got her him it just me them us / from off out to up; starts: / off out to up; strong: going;
    support: in; tea: / party shop; think thinks: / about again of; together: get get got put / with; tree:
    christmas family; tried: / and on out; true: came come comes coming dream; two three four five six seven eight
    nine ten eleven twelve: number one or the these those / or of thirds; very: at that the this / first last much
    same; want wanted wants: / in out to; warm: to / up; while: a brief for little long short worth; wine: / bar;
    won: / over; worse: / off
    """
)
"""By word: the words behind which, and those before which, it is part of something else."""
_VERBS = several("love hate support buy offers lives meet win wins starts begins increases loves likes eat accept")
"""Listed as verbs, though some may be nouns."""
_AS_NOUN = DETERMINERS | several("in of on at by for from with no")


_NO_NOUNS = (
    (DETERMINERS - {"s"})
    | SUBJECTS
    | several(
        """
    about above across after against ago alone along although among and are around as at because before behind below
    beside between but by despite down during except for from her him if in inside into it like me near nor of off on
    onto or out outside over past since than that them through till to toward towards under unless until up upon us
    when where whether which while whom whose why with within without yet
    """
    )
)
"""Words of grammar that a phrase with a noun can end before."""


def fits(word: str, sentence: str, spot: re.Match[str]) -> bool:
    """Whether nothing beside the word says that it is something else here."""
    if word in _VERBS and previous_word(sentence, spot) in _AS_NOUN:
        return False
    before, behind = LIMITS.get(word, (frozenset(), frozenset()))
    return previous_word(sentence, spot) not in before and next_word(sentence, spot) not in behind


def before_noun(sentence: str, spot: re.Match[str]) -> bool:
    """Whether a noun or an adjective may follow: any word that is neither one of grammar nor surely a verb."""
    after = next_word(sentence, spot)
    if not after or after in _NO_NOUNS or after in AUXILIARIES | BEFORE_BASE | ADVERBS or is_adverb(after):
        return False
    participle = len(after) > 5 and after.endswith("ed") and not after.endswith("eed")
    return not participle and after not in (THIRDS.keys() - ALSO_NOUNS) | PASTS.keys()


def listed(words: Mapping[str, str]) -> Callable[[str, re.Match[str]], str | None]:
    """Looks words up in a list, where they mean what they are listed for; none that may be a name."""

    def other(sentence: str, spot: re.Match[str]) -> str | None:
        word = plain(spot)
        return words.get(word) if word is not None and word in words and fits(word, sentence, spot) else None

    return other
