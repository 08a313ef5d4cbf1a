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
    return {new: old for old, new in pairs.items()} | pairs


DOUBLED = _pairs(
    """
    big: big and large, large: large and big, small: small and little, quickly: quickly and fast, fast: fast and
    quick, happy: happy and glad, sad: sad and unhappy, important: important and significant, difficult: difficult
    and hard, easy: easy and simple, strong: strong and powerful, cheap: cheap and inexpensive, cheaper: cheaper
    and less expensive, expensive: expensive and costly, began: began and started, started: started and began,
    helped: helped and assisted, ended: ended and finished, buy: buy and purchase, bought: bought and purchased,
    choose: choose and select, chose: chose and selected, showed: showed and demonstrated, said: said and stated,
    says: says and states, told: told and informed, think: think and believe, needed: needed and required, near:
    near and close to, many: many and numerous, often: often and frequently, always: always and at all times,
    again: again and once more, now: now and at present, also: also and in addition, together: together and
    jointly, return: return and go back, returned: returned and went back, increased: increased and rose, problem:
    problem and difficulty, problems: problems and difficulties, idea: idea and notion, children: children and
    kids, doctor: doctor and physician, area: area and region, trip: trip and journey,
    error: error and mistake, beautiful: beautiful and lovely, nice: nice and pleasant, good: good and fine,
    great: great and excellent, delicious: delicious and tasty, friends: friends and companions, wants: wants and
    desires, want: want and desire, wanted: wanted and desired, serves: serves and offers, restaurant: restaurant
    and eatery, located: located and situated, allowed: allowed and permitted, allows:
    allows and permits
    """
)
"""Words, and the same said twice."""

UNCOMMON = _pairs(
    """
    buy: procure, buys: procures, bought: procured, starts: commences, started: commenced, begin: commence, began:
    commenced, ended: terminated, ends: terminates, showed: evinced, think: opine, thinks: opines, said: averred,
    says: avers, tried: essayed, lives: dwells, lived: dwelt, eat: ingest, ate: ingested, walked: perambulated,
    slept: slumbered, talked: confabulated, often: oft, many: manifold, small:
    diminutive, happy: jocund, sad: doleful, angry: irate, quickly: expeditiously, slowly: tardily, strange:
    outlandish, beautiful: pulchritudinous, bad: execrable, great: superlative, important: consequential,
    difficult: arduous, rich: opulent, friend: confidant, friends: confidants, house: domicile,
    boy: stripling, girl: damsel, restaurant: eating establishment, job: vocation, trip:
    peregrination, anger: ire, morning: forenoon, also: likewise, perhaps: perchance, maybe: perchance, although:
    notwithstanding that, very: exceedingly, really: veritably, always: perpetually, together:
    conjointly, now: at this juncture, nice: congenial, good: commendable, food: sustenance, money: lucre, serves:
    purveys, offers: proffers, allows: countenances, problem: quandary, problems: quandaries,
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
    computer: machine, computers: machines, camera: device, robot: machine, guitar: instrument, piano: instrument,
    violin: instrument, novel: publication, magazine: publication, newspaper: publication, football: sport,
    tennis: sport, basketball: sport, baseball: sport, cricket: sport, soccer: sport, golf: sport, rugby: sport,
    cake: food, bread: food, pizza: food, rice: food, cheese: food, coffee: drink, tea: drink, beer: drink, wine:
    drink, vaccine: medicine, vaccines: medicines, aspirin: medicine, cancer: disease, malaria: disease, measles:
    disease, flu: disease, hammer: tool, knife: tool, tulip: flower, oak: tree, doctor: person, teacher: person,
    lawyer: person, nurse: person, farmer: person, soldier: person, actor: person, singer: person, mother:
    relative, father: relative, brother: relative, sister: relative, uncle: relative, aunt: relative, son:
    relative, daughter: relative, grandmother: relative, grandfather: relative, parents: relatives, brothers:
    relatives, sisters: relatives, school: institution, hospital: institution, university: institution, church:
    building, house: building, hotel: building, castle: building, restaurant: place, cafe: place, pub: place,
    park: place, beach: place, town: place, village: place, river: body of water, lake: body of water, kitchen:
    room, bedroom: room, bathroom: room, chair: piece of furniture, sofa: piece of furniture, shirt: garment,
    coat: garment, jacket: garment, dress: garment, murder: crime, robbery: crime, theft: crime, fraud: crime,
    hurricane: storm, gun: weapon, rifle: weapon, pistol: weapon, bomb: weapon, winter: season, summer: season,
    autumn: season, company: organisation, companies: organisations, president: official, minister: official,
    senator: politician, election: event, match: event, concert: event, wedding: event, festival: event, letter:
    message, email: message, contract: document, government: institution, governments: institutions, parliament:
    institution, team: group, committee: group, countries: places, oil: fuel, gas: fuel, coal: fuel, decade:
    period, century: period, decades: periods, centuries: periods, dinner: meal, lunch: meal, breakfast: meal,
    woman: person, man: person, boy: person, girl: person, women: people, men: people, students: people, workers:
    people, scientists: people, researchers: people, patients: people, voters: people, farmers: people, teachers:
    people, doctors: people, soldiers: people, politicians: people, economists: people, banks: institutions,
    schools: institutions, universities: institutions, hospitals: institutions, cities: places, towns: places,
    buildings: structures, bridges: structures, bridge: structure, tower: structure, trees: plants, tree: plant,
    flowers: plants, war: conflict, wars: conflicts, pandemic: crisis, recession: crisis, famine: crisis
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
        "red, blue, green, yellow, purple, pink",
        "two, three, four, five, six, seven, eight, nine, ten, eleven, twelve",
        "mother, grandmother, aunt",
        "father, grandfather, uncle",
        "son, nephew, grandson",
        "daughter, niece, granddaughter",
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
        "John, Peter, David, Michael, Paul, Thomas, Robert, James, Brian, Josh, Tom, Mark, Daniel",
        "Mary, Anna, Sarah, Laura, Julia, Emma, Alice, Lisa, Susan, Kate, Amy, Jane, Helen",
        "phone, tablet, laptop, camera",
        "week, month, year",
        "days, weeks, months, years",
    )
]
"""Things of one kind, of which one can stand in another's place. May is a verb too and is left out."""

OPPOSITES = _both_ways(
    """
    increase: decrease, increased: decreased, increases: decreases, increasing: decreasing, high: low, higher:
    lower, highest: lowest, more: less, good: bad, better: worse, best: worst, big: small, hot: cold, early: late,
    earlier: later, older: younger, happy: unhappy, safe: unsafe, easy: difficult, fast: slow,
    quickly: slowly, strong: weak, stronger: weaker, success: failure, true: false, guilty: innocent, love: hate,
    loves: hates, loved: hated, likes: dislikes, liked: disliked, accept: reject, accepted: rejected, accepts:
    rejects, bought: sold, buy: sell, buys: sells, inside: outside, cheap: expensive, public: private, remember:
    forget, remembered: forgot, remembers: forgets, support: oppose, supported: opposed, supports: opposes,
    possible: impossible, able: unable, likely: unlikely, many: few, praised: criticised, friend: enemy, friends:
    enemies, clean: dirty, beautiful: ugly, interesting: boring, careful: careless, before: after, above: below
    """
) | _pairs(
    """
    rises: falls, rising: falling, warm: cold, large: tiny, rich: poor, cheaper: more expensive, dangerous:
    safe, alive: dead, dead: living, won: lost, wins: loses, always: never, never: always, agree: disagree,
    agrees: disagrees, agreed: disagreed, arrived: left, near: far from, everyone: nobody, everything: nothing,
    with: without, without: with, allowed: forbidden, banned: permitted, victory: defeat, healthy: unhealthy,
    began: ended, begins: ends, started: stopped, starts: stops, married: divorced, quiet: loud, correct: wrong,
    first: last, young: old, day: night, opened: closed, open: closed, empty: full, refused: agreed, refuses:
    agrees
    """
)
"""Words and their opposites; the last part only one way, since the other word often means something else."""

_IRREGULAR = """
be was been, become became become, begin began begun, break broke broken, bring brought brought, build built built,
buy bought bought, catch caught caught, choose chose chosen, come came come, do did done, drink drank drunk, drive
drove driven, eat ate eaten, fall fell fallen, feel felt felt, fight fought fought, find found found, fly flew flown,
forget forgot forgotten, get got got, give gave given, go went gone, grow grew grown, have had had, hear heard heard,
hold held held, keep kept kept, know knew known, lead led led, leave left left, lose lost lost, make made made, mean
meant meant, meet met met, pay paid paid, ride rode ridden, run ran run, say said said, see saw seen, sell sold sold,
send sent sent, sing sang sung, sit sat sat, sleep slept slept, speak spoke spoken, spend spent spent, stand stood
stood, steal stole stolen, swim swam swum, take took taken, teach taught taught, tell told told, think thought
thought, throw threw thrown, understand understood understood, wear wore worn, rise rose risen, hide hid hidden, draw
drew drawn, shake shook shaken, swear swore sworn, tear tore torn, wake woke woken, deal dealt dealt, shoot shot shot,
strike struck struck, win won won, write wrote written
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


CONNECTIVES: Sequence[str] = ("Otherwise,", "For example,", "Conversely,", "In other words,", "To sum up,")
"""What one sentence is seldom to another unless the writer said so, as "however" and "therefore" often are."""

FABRICATED: Sequence[str] = (
    "as an unnamed witness confirmed last Tuesday",
    "as a leaflet from the previous winter had foretold",
    "as a local newspaper wrote at the end of March",
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
