"""Small English word lists for the perturbations that are made by rule; all of them written for this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def _pairs(text: str) -> dict[str, str]:
    """``"old: new, old: new"`` as a mapping."""
    entries = (" ".join(entry.split()).partition(": ") for entry in text.split(","))
    return {old: new for old, _, new in entries}


def several(words: str) -> frozenset[str]:
    """Words that are written with spaces between them, as a set."""
    return frozenset(words.split())


def _both_ways(text: str) -> dict[str, str]:
    pairs = _pairs(text)
    back = {new: old for old, new in pairs.items() if new not in pairs and new not in _ONE_WAY}
    return pairs | back


DOUBLED = _pairs(
    """
    big: big and large, large: large and big, small: small and little, quickly: quickly and fast, fast: fast and
    quick, happy: happy and glad, sad: sad and unhappy, important: important and significant, new: new and
    recent, difficult: difficult and hard, easy: easy and simple, clear: clear and plain, strong: strong and
    powerful, cheap: cheap and inexpensive, cheaper: cheaper and less expensive, expensive: expensive and
    costly, began: began and started, started: started and began, helped: helped and assisted, end: end and
    finish, ended: ended and finished, buy: buy and purchase, bought: bought and purchased, choose: choose and
    select, chose: chose and selected, called: called and phoned, showed: showed and demonstrated, said: said
    and stated, says: says and states, told: told and informed, think: think and believe, needed: needed and
    required, near: near and close to, many: many and numerous, often: often and frequently, always: always and
    at all times, again: again and once more, now: now and at present, also: also and in addition, together:
    together and jointly, return: return and go back, returned: returned and went back, increase: increase and
    rise, increased: increased and rose, decrease: decrease and drop, problem: problem and difficulty, problems:
    problems and difficulties, idea: idea and notion, job: job and occupation, children: children and kids,
    doctor: doctor and physician, police: police and officers, area: area and region, place: place and location,
    city: city and town, trip: trip and journey, error: error and mistake, reply: reply and answer, beautiful:
    beautiful and lovely, nice: nice and pleasant, good: good and fine, great: great and excellent, delicious:
    delicious and tasty, friends: friends and companions, wants: wants and desires, want: want and desire,
    wanted: wanted and desired, serves: serves and offers, restaurant: restaurant and eatery, hotel: hotel and
    inn, located: located and situated, allowed: allowed and permitted, allows: allows and permits, father:
    father and dad, mother: mother and mum
    """
)
"""Words, and the same said twice."""

UNCOMMON = _pairs(
    """
    buy: procure, buys: procures, bought: procured, helped: succoured, starts: commences, started: commenced,
    begin: commence, began: commenced, ended: terminated, ends: terminates, shows: evinces, showed: evinced,
    think: opine, thinks: opines, said: averred, says: avers, say: aver, tried: essayed, lives: dwells, lived:
    dwelt, eat: ingest, ate: ingested, walked: perambulated, slept: slumbered, meet: encounter, met:
    encountered, talked: confabulated, often: oft, many: manifold, big: voluminous, large: capacious, small:
    diminutive, little: exiguous, happy: felicitous, sad: lachrymose, angry: irate, quickly: expeditiously,
    slowly: tardily, strange: outlandish, beautiful: pulchritudinous, bad: deleterious, great: prodigious,
    important: consequential, difficult: arduous, easy: facile, clear: perspicuous, rich: opulent, poor:
    impecunious, cheap: inexpensive, friend: confidant, friends: confidants, house: domicile,
    children: progeny, boy: stripling, girl: damsel, doctor: physician, restaurant: eating establishment, job:
    vocation, trip: peregrination, anger: ire, morning: forenoon, people: personages, also: likewise, perhaps:
    perchance, maybe: perchance, although: albeit, while: whilst, very: exceedingly, really: veritably, always:
    perpetually, together: conjointly, now: at this juncture, nice: congenial, good: commendable, food:
    sustenance, money: lucre, serves: purveys, serve: purvey, offers: proffers, allows: countenances, allowed:
    countenanced, nearby: proximate, new: novel, problem: quandary, problems: quandaries, located: situated,
    tired: enervated
    """
)
"""Common words, and rare ones that mean the same."""

HYPERNYMS = _pairs(
    """
    dog: animal, dogs: animals, cat: animal, cats: animals, horse: animal, horses: animals, bird: animal, birds:
    animals, cow: animal, cows: animals, lion: animal, car: vehicle, cars: vehicles, bus: vehicle, buses:
    vehicles, lorry: vehicle, bike: vehicle, bicycle: vehicle, plane: aircraft, helicopter: aircraft, boat:
    vessel, boats: vessels, phone: device, phones: devices, smartphone: device, tablet: device, laptop: device,
    computer: machine, computers: machines, camera: device, television: device, robot: machine, guitar:
    instrument, piano: instrument, violin: instrument, books: publications, novel: publication, magazine:
    publication, newspaper: publication, movie: work, song: work, football: sport, tennis: sport, basketball:
    sport, cricket: sport, soccer: sport, golf: sport, rugby: sport, banana: fruit, cake: food, bread: food,
    pizza: food, rice: food, cheese: food, coffee: drink, tea: drink, beer: drink, wine: drink, vaccine:
    medicine, vaccines: medicines, aspirin: medicine, cancer: disease, malaria: disease, measles: disease, flu:
    disease, hammer: tool, knife: tool, tulip: flower, oak: tree, doctor: person, teacher: person, lawyer:
    person, nurse: person, farmer: person, soldier: person, actor: person, singer: person, mother: relative,
    father: relative, brother: relative, sister: relative, uncle: relative, aunt: relative, son: relative,
    daughter: relative, grandmother: relative, grandfather: relative, school: institution, hospital:
    institution, university: institution, church: building, house: building, hotel: building, castle: building,
    restaurant: place, cafe: place, pub: place, park: place, beach: place, town: place, village: place, river:
    body of water, lake: body of water, kitchen: room, bedroom: room, bathroom: room, chair: piece of furniture,
    sofa: piece of furniture, shirt: garment, coat: garment, jacket: garment, murder: crime, robbery: crime,
    theft: crime, fraud: crime, hurricane: storm, gun: weapon, rifle: weapon, pistol: weapon, bomb: weapon,
    winter: season, summer: season, autumn: season, company: organisation, companies: organisations, president:
    politician, minister: politician, senator: politician, election: event, match: event, game: event, concert:
    event, wedding: event, festival: event, letter: message, email: message, report: document, contract:
    document, court: institution, government: institution, governments: institutions, parliament: institution,
    team: group, family: group, committee: group, country: place, countries: places, street: place, oil:
    resource, gas: resource, coal: fuel, decade: period, century: period, decades: periods, centuries: periods,
    dinner: meal, lunch: meal, breakfast: meal, children: people, women: people, men: people, woman: person,
    man: person, boy: person, girl: person, students: people, workers: people, scientists: people, researchers:
    people, patients: people, voters: people, farmers: people, teachers: people, doctors: people, soldiers:
    people, politicians: people, parents: people, economists: people, banks: institutions, schools:
    institutions, universities: institutions, hospitals: institutions, cities: places, towns: places, streets:
    places, buildings: structures, bridges: structures, bridge: structure, tower: structure, trees: plants,
    tree: plant, flowers: plants, war: conflict, wars: conflicts, pandemic: crisis, recession: crisis, famine:
    crisis
    """
)
"""Nouns, and what they are a kind of."""

KINDS: Sequence[Sequence[str]] = [
    entry.split(", ")
    for entry in (
        "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday",
        "January, February, March, April, June, July, August, September, October, November, December",
        "London, Paris, Berlin, Madrid, Rome, Vienna, Tokyo, Chicago, Boston, Dublin, Sydney, Toronto, Moscow",
        "Germany, France, Spain, Italy, Japan, China, India, Brazil, Canada, Mexico, Australia, Russia, Norway, Syria",
        "German, French, Spanish, Italian, Japanese, Chinese, Indian, Brazilian, Canadian, Mexican, Thai, Korean",
        "Manchester, Liverpool, Leeds, Chelsea, Arsenal, Everton, Southampton",
        "Apple, Samsung, Google, Microsoft, Sony, Nokia, Amazon, Facebook",
        "red, blue, green, yellow, brown, purple, pink",
        "two, three, four, five, six, seven, eight, nine, ten, eleven, twelve",
        "mother, father, brother, sister, uncle, aunt, son, daughter",
        "dog, cat, horse, rabbit, parrot, hamster",
        "doctor, teacher, lawyer, nurse, farmer, soldier, singer, engineer, baker",
        "car, bus, train, plane, ship, bicycle, truck",
        "breakfast, lunch, dinner",
        "football, tennis, basketball, cricket, golf, rugby, baseball",
        "school, hospital, library, museum, factory, church, hotel",
        "guitar, piano, violin, trumpet, flute",
        "morning, afternoon, evening",
        "spring, summer, autumn, winter",
        "million, billion",
        "beach, forest, mountain, desert",
        "coffee, tea, beer, wine, milk",
        "pizza, pasta, soup, salad, steak, sushi",
        "north, south, east, west",
        "John, Peter, David, Michael, Paul, Thomas, Robert, James, Brian, Josh, Tom, Mark, Daniel",
        "Mary, Anna, Sarah, Laura, Julia, Emma, Alice, Lisa, Susan, Kate, Amy, Jane, Helen",
        "phone, tablet, laptop, camera, radio",
        "day, week, month, year",
        "days, weeks, months, years",
    )
]
"""Things of one kind, of which one can stand in another's place. May is a verb too and is left out."""

_ONE_WAY = frozenset(
    {"closed", "left", "few", "dearer", "far from", "tiny", "last", "old"}
)  # often mean something else
OPPOSITES = _both_ways(
    """
    increase: decrease, increased: decreased, increases: decreases, increasing: decreasing, rise: fall, rose:
    fell, rises: falls, rising: falling, high: low, higher: lower, highest: lowest, more: less, always: never,
    good: bad, better: worse, best: worst, big: small, bigger: smaller, large: tiny, hot: cold, warm: cool,
    open: closed, opened: closed, won: lost, win: lose, wins: loses, before: after, above: below, early: late,
    earlier: later, older: younger, rich: poor, happy: unhappy, safe: dangerous, easy: difficult, fast: slow,
    quickly: slowly, strong: weak, stronger: weaker, success: failure, true: false, alive: dead, guilty:
    innocent, love: hate, loves: hates, loved: hated, likes: dislikes, liked: disliked, accept: reject,
    accepted: rejected, accepts: rejects, agreed: refused, agree: refuse, agrees: refuses, bought: sold, buy:
    sell, buys: sells, arrived: left, inside: outside, cheap: expensive, cheaper: dearer, expensive: cheap,
    public: private, remember: forget, remembered: forgot, remembers: forgets, support: oppose, supported:
    opposed, supports: opposes, full: empty, day: night, possible: impossible, able: unable, likely: unlikely,
    near: far from, everyone: nobody, everything: nothing, many: few, with: without, praised: criticised,
    praise: criticise, allowed: forbidden, banned: permitted, hope: despair, victory: defeat, healthy: ill,
    friend: enemy, friends: enemies, began: ended, begins: ends, started: stopped, starts: stops, married:
    divorced, clean: dirty, quiet: loud, beautiful: ugly, interesting: boring, correct: wrong, careful:
    careless, first: last, young: old
    """
)
"""Words and their opposites."""

_IRREGULAR = """
be was been, become became become, begin began begun, break broke broken, bring brought brought, build built built,
buy bought bought, catch caught caught, choose chose chosen, come came come, do did done, drink drank drunk,
drive drove driven, eat ate eaten, fall fell fallen, feel felt felt, fight fought fought, find found found,
fly flew flown, forget forgot forgotten, get got got, give gave given, go went gone, grow grew grown, have had had,
hear heard heard, hold held held, keep kept kept, know knew known, lead led led, leave left left, lose lost lost,
make made made, mean meant meant, meet met met, pay paid paid, ride rode ridden, run ran run, say said said,
see saw seen, sell sold sold, send sent sent, sing sang sung, sit sat sat, sleep slept slept, speak spoke spoken,
spend spent spent, stand stood stood, steal stole stolen, swim swam swum, take took taken, teach taught taught,
tell told told, think thought thought, throw threw thrown, understand understood understood, wear wore worn,
win won won, write wrote written
"""
_REGULAR = """
accept accuse add agree allow announce answer appear arrive ask attack attend believe call carry cause change charge
claim clean close confirm continue cook cover create cry decide deliver describe destroy die discover discuss dance
earn end enjoy enter expect explain fail finish follow force happen hate help hope hurt improve include invite join jump
kill kiss learn like listen live look love manage marry miss move need notice offer open order pass plan play prefer
prepare produce promise protect prove pull push reach receive refuse release remain remember reply report require
return save score search seem serve share shout sign smell smile start stay stop study suffer suggest support suppose
talk travel try turn use visit wait walk want warn wash watch wish wonder work worry
"""


def _third(base: str) -> str:
    if base.endswith(("s", "x", "ch", "sh", "o")):
        return base + "es"
    return base[:-1] + "ies" if base.endswith("y") and base[-2] not in "aeiou" else base + "s"


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + base[-1] + "ed" if base in ("plan", "prefer", "stop") else base + "ed"


_INFLECTED = {
    **{base: (past, done) for base, past, done in (entry.split() for entry in _IRREGULAR.split(",")) if base != "be"},
    **{base: (_past(base), _past(base)) for base in _REGULAR.split() if base != "hurt"},
}
_THIRD = {base: {"have": "has", "do": "does"}.get(base, _third(base)) for base in _INFLECTED}

BASES: Mapping[str, str] = dict(_THIRD)
"""Verbs, and their third person singular."""
THIRDS: Mapping[str, str] = {third: base for base, third in _THIRD.items()}
"""Third persons singular, and the verb."""
PASTS: Mapping[str, str] = {past: base for base, (past, _) in _INFLECTED.items() if past != base}
"""Past tenses, and the verb."""
PARTICIPLES: Mapping[str, str] = {"been": "be", **{done: base for base, (_, done) in _INFLECTED.items()}}
"""Past participles, and the verb."""
_DOUBLING = several("begin forget get hit plan prefer put run shop sit stop swim win")


def ing(base: str) -> str:
    """The present participle of a verb."""
    if base.endswith("ie"):
        return base[:-2] + "ying"
    if base.endswith("e") and not base.endswith("ee") and base != "be":
        return base[:-1] + "ing"
    return base + base[-1] + "ing" if base in _DOUBLING else base + "ing"


CONNECTIVES: Sequence[str] = ("However,", "Therefore,", "For example,", "In contrast,", "Otherwise,", "As a result,")
"""What one sentence is seldom to another unless the writer said so."""

FABRICATED: Sequence[str] = (
    "as an unnamed witness confirmed last Tuesday",
    "as a leaflet from the previous winter had foretold",
    "for the second time since the end of March",
    "as two neighbours later wrote in a letter",
    "which a retired judge had noted in his diary",
    "after nearly six weeks of preparation",
)
"""Details that hardly any source has, to stand at the end of a statement."""

CONTINUED: Sequence[str] = (
    "A longer account of this is expected to appear early next year.",
    "Several people who were there have since been given a small award.",
    "A retired teacher from the neighbourhood had warned of it some weeks earlier.",
    "It was the third time in ten years that such a thing had been reported.",
    "A short documentary about it is already being made.",
)
"""Sentences that could follow almost any text, and hardly any source has."""
