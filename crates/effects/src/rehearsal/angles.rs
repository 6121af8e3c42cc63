//! The sides from which a page can look at an objective, with the sentences it says there. `{t}` is the
//! topic, `{a}` to `{d}` are key phrases. The sentences ask and order; they never pretend to know facts.

/// One side: how a plan names it, what it asks, and three paragraphs with their headings.
pub struct Angle {
    pub title: &'static str,
    pub step: &'static str,
    pub question: &'static str,
    pub paragraphs: [(&'static str, &'static str); 3],
}

pub const ANGLES: [Angle; 8] = [
    Angle {
        title: "Where things stand",
        step: "Establish where {a} stands today",
        question: "What is true today, and how do we know?",
        paragraphs: [
            (
                "What can be seen now",
                "A fair picture of {a} starts with what can be looked at without asking anyone: the documents in \
                 this workspace, the tasks that are open, and the words of the objective itself. Where those \
                 agree, the picture is good enough to build on; where they do not, the difference is worth a line \
                 of its own.",
            ),
            (
                "What people believe",
                "The second layer is what people take for granted about {b}. Such beliefs are often right, but \
                 they age. For each one, note who holds it and what would show that it no longer fits; that alone \
                 turns an opinion about {b} into something that can be checked.",
            ),
            (
                "What is missing",
                "The gaps matter more than the pages that exist. With {c} in view, the most useful gap to close is \
                 the one that would change a decision. Everything else can stay open and be named as open.",
            ),
        ],
    },
    Angle {
        title: "Options and trade-offs",
        step: "Weigh the options for {a}",
        question: "Which ways lead there, and what does each give up?",
        paragraphs: [
            (
                "The short way",
                "The first option does the least that still answers the objective: settle {a}, leave the rest as \
                 it is, and look again soon. It is cheap to start and easy to undo. What it gives up is reach, \
                 since questions around {b} stay where they are.",
            ),
            (
                "The thorough way",
                "The second option takes {a} and {b} together and spends time on {c} before anything is built on \
                 it. It costs more at the beginning and less later. It suits work that many others will depend \
                 upon.",
            ),
            (
                "How to choose",
                "Choose by what would hurt most if it went wrong. When a mistake with {b} can be put right in a \
                 day, the short way wins; when it would be carried along for months, the thorough way pays for \
                 itself. Either way, write down which one was taken and why.",
            ),
        ],
    },
    Angle {
        title: "Risks and unknowns",
        step: "Name the risks around {a}",
        question: "What could go wrong, and how early would it show?",
        paragraphs: [
            (
                "What could go wrong",
                "Three things usually endanger work on {a}: an assumption nobody tested, a dependency nobody owns, \
                 and a finish line that moves. Each of them has an early sign. For {a}, the sign to watch for is a \
                 question that keeps coming back with different answers.",
            ),
            (
                "What is not known",
                "Not everything about {b} can be known in advance, and it need not be. What helps is to separate \
                 the unknowns that cost an hour to settle from those that cost a week, and to settle the cheap \
                 ones first, before they pile up around {c}.",
            ),
            (
                "What to do about it",
                "For each risk, one line is enough: who looks after it, what they look at, and what happens if the \
                 sign appears. A list for {c} that nobody reads is worse than none, so it should fit on half a \
                 page and be read whenever the plan changes.",
            ),
        ],
    },
    Angle {
        title: "People and needs",
        step: "Learn who depends on {a}",
        question: "Who is this for, and what would they call a good result?",
        paragraphs: [
            (
                "Who is concerned",
                "Work on {a} touches more people than those who asked for it. There are those who will use the \
                 result, those who will keep it running, and those who only notice it when it fails. Each group \
                 looks at {b} from its own side.",
            ),
            (
                "What they need",
                "The need behind the objective is rarely the sentence it was written in. A good test is to ask \
                 what somebody would do differently the day after {a} is settled. If the answer is nothing, the \
                 need has not been found yet; if it is concrete, it belongs in the plan.",
            ),
            (
                "How to hear from them",
                "A short talk with two people who live with {c} is worth more than a long survey. Bring the \
                 outline, ask where it is wrong, and write down their words rather than a summary of them.",
            ),
        ],
    },
    Angle {
        title: "Cost and effort",
        step: "Estimate the effort behind {a}",
        question: "What does it take, and where does the effort go?",
        paragraphs: [
            (
                "Where the effort goes",
                "Most of the effort for {a} will not go where the objective points first. Preparation and clean-up \
                 usually take as long as the visible part. Splitting the work on {b} into pieces of at most a day \
                 shows which piece is the large one.",
            ),
            (
                "What can be saved",
                "Savings come from not doing things twice. If {b} and {c} share their groundwork, it should be \
                 done once and written down, so that the second piece starts from the page and not from memory.",
            ),
            (
                "What an estimate is worth",
                "An estimate for {a} is a range with a reason. Give the low end, the high end, and the one \
                 circumstance that moves it from one to the other; then a later surprise can be traced instead of \
                 argued about.",
            ),
        ],
    },
    Angle {
        title: "Order of work",
        step: "Put the work on {a} in order",
        question: "What comes first, and what can wait?",
        paragraphs: [
            (
                "What comes first",
                "The first piece should be small, finished, and visible: something about {a} that a reader can \
                 hold against the objective and say yes or no to. It sets the tone for the rest and finds out \
                 early whether {b} was understood.",
            ),
            (
                "What can go side by side",
                "Once the beginning stands, {b} and {c} do not have to wait for each other. They can go side by \
                 side as long as each writes down what it takes for granted about the other, and somebody compares \
                 the two lists before they are joined.",
            ),
            (
                "What can wait",
                "Everything that does not change the outcome for {d} can wait. Putting it on a list is enough; a \
                 list keeps it from being forgotten and from being done too early.",
            ),
        ],
    },
    Angle {
        title: "Signs of success",
        step: "Decide how to judge {a}",
        question: "How will anybody be able to tell that it worked?",
        paragraphs: [
            (
                "What to look at",
                "Success with {a} should be visible to somebody who was not there. The simplest sign is a thing \
                 that exists now and did not exist before: a page, a decision, a working part. For {b}, name that \
                 thing before the work begins.",
            ),
            (
                "What to count",
                "Counting helps where the thing itself is not enough. Count something that can get worse as well \
                 as better, or it will only ever confirm. For {c}, one number looked at every week beats five that \
                 are looked at once.",
            ),
            (
                "When to stop",
                "The work is finished when the criteria are met and each has a page that shows it, not when nobody \
                 can think of more to do. Further wishes about {a} are welcome as the beginning of something new.",
            ),
        ],
    },
    Angle {
        title: "Limits and boundaries",
        step: "Mark the limits of {a}",
        question: "What belongs to this, and what does not?",
        paragraphs: [
            (
                "What is inside",
                "Inside the boundary is what the objective names: {a}, and as much of {b} as is needed to make \
                 sense of it. Anything that is inside should be traceable to a word of the objective or to \
                 something a person said since.",
            ),
            (
                "What is outside",
                "Outside is what would be good to have and is not asked for. With {c} that line is easy to cross, \
                 because the neighbouring questions are interesting. They go on a list with a sentence each, and \
                 the list is handed over with the result.",
            ),
            (
                "What holds either way",
                "Some limits do not depend on the choice of approach: the time available, the tools at hand, the \
                 projects this run may touch. They are the frame for {d}, and a plan that ignores them is only a \
                 wish.",
            ),
        ],
    },
];
