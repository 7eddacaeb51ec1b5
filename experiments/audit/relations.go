package audit

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"latlab.example/common/laws"
)

// auditRelations checks every clause of column relation.
func (a *auditor) auditRelations() {
	sums := make(map[*Figure][]*Figure) // the parts of a whole
	copies := make(map[string][]*Figure)
	for _, f := range a.Figures {
		for _, r := range f.relations {
			switch {
			case f.Statement():
				a.statement(f, r)
			case r.verb == derived:
				a.derived(f, r)
			case r.verb == sameAs:
				a.same(f, r)
			case r.verb == partOf:
				whole, _ := r.row()
				if a.part(f, whole) && f.Statistic == "mean" && whole.Statistic == "mean" {
					sums[whole] = append(sums[whole], f)
				}
			case r.verb == moreWork, r.verb == lessWork:
				a.work(f, r)
			case r.verb == apart:
				other, _ := r.row()
				a.law("apart", f, other)
				key := strings.Join(f.Groups, " ")
				copies[key] = append(copies[key], f, other)
			case r.verb == servedAs: // with the other rates of its group
			default:
				a.bound(f, r)
			}
		}
	}
	for _, whole := range a.Figures {
		a.sum(whole, sums[whole])
	}
	for _, f := range a.Figures {
		key := strings.Join(f.Groups, " ")
		a.copied(key, copies[key])
		delete(copies, key)
	}
}

// order of two intervals. Figures are rounded, so that intervals that only touch
// don't overlap.
type order int

const (
	overlap order = iota
	below
	above
)

func orderOf(l, r laws.Interval) order {
	// What adding and multiplying float64 may be off by.
	eps := 1e-9 * max(abs(l.Lo), abs(l.Hi), abs(r.Lo), abs(r.Hi))
	switch {
	case l.Hi <= r.Lo+eps && l.Lo < r.Lo-eps:
		return below
	case l.Lo >= r.Hi-eps && l.Hi > r.Hi+eps:
		return above
	}
	return overlap
}

func abs(v float64) float64 { return max(v, -v) }

// judge says whether l verb r can't be, and whether it must be.
func (v verb) judge(l, r laws.Interval) (broken, holds bool) {
	o := orderOf(l, r)
	switch v {
	case derived:
		return !l.Overlaps(r) && o != overlap, l.Overlaps(r)
	case atMost, less:
		return o == above, o == below
	}
	return o == below, o == above
}

// grade is implausible where the row names what it would need.
func (f *Figure) grade() laws.Grade {
	if f.Assumes != "" {
		return laws.Implausible
	}
	return laws.Impossible
}

// derived: a figure that follows from others, as a change in percent does.
func (a *auditor) derived(f *Figure, r relation) {
	figs := r.expr.rows([]*Figure{f})
	a.law("derived", figs...)
	a.alike(f, figs[1:])
	a.percentileInLittle(f, r)
	got := r.expr.eval()
	if broken, _ := derived.judge(f.Value, got); !broken {
		return
	}
	a.say("derived", keyOf(f, r), Finding{
		Finding: laws.Finding{
			Grade: f.grade(), Law: "a figure follows from the rows it comes from", Value: got, Unit: unitOf(f.dim), Assumes: f.Assumes,
			Text: fmt.Sprintf("%s is given as %v, and %s follows.", sentence(f.Metric), f, like(f, got)),
		},
		Arithmetic: equals(r.expr, like(f, got)) + fmt.Sprintf(", against %v", f),
	}, figs...)
}

// keyOf tells a row's relations of one kind apart.
func keyOf(f *Figure, r relation) string {
	same := 0
	for _, o := range f.relations {
		if o.verb == r.verb {
			if same++; o.at == r.at && same > 1 {
				return fmt.Sprintf("%s/%d", f.ID, same)
			}
		}
	}
	return f.ID
}

// like writes a computed value as the row writes its own.
func like(f *Figure, i laws.Interval) string {
	if f.Unit == "percent" {
		return percent(i)
	}
	return show(i, f.dim)
}

func unitOf(dim int) string {
	switch dim {
	case 1:
		return "s"
	case -1:
		return "1/s"
	}
	return "1"
}

// sentence begins with a capital letter.
func sentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// alike: what is set side by side was taken with the same number of users.
func (a *auditor) alike(f *Figure, figs []*Figure) {
	for i, x := range figs {
		for _, y := range figs[:i] {
			if x.Concurrency == 0 || y.Concurrency == 0 || x.dim != y.dim {
				continue
			}
			a.law("like with like", x, y)
			if x.Concurrency == y.Concurrency {
				continue
			}
			name := sentence(f.Metric)
			if f.Statement() {
				name = fmt.Sprintf("%q", f.Metric)
			}
			a.say("like with like", f.ID, Finding{
				Finding: laws.Finding{
					Grade: laws.Implausible, Law: "like with like", Value: laws.Exact(float64(x.Concurrency) / float64(y.Concurrency)), Unit: "1",
					Text: fmt.Sprintf("%s sets %v, taken with %d users, against %v, taken with %d.",
						name, y, y.Concurrency, x, x.Concurrency),
					Assumes: "that latency doesn't depend on the number of users",
				},
				Arithmetic: fmt.Sprintf("%d users against %d", y.Concurrency, x.Concurrency),
			}, append([]*Figure{f}, y, x)...)
			return
		}
	}
}

// percentileInLittle: N/R is a throughput if R is a mean.
func (a *auditor) percentileInLittle(f *Figure, r relation) {
	if f.dim != -1 {
		return
	}
	for _, x := range r.expr.rows(nil) {
		if x.dim != 1 {
			continue
		}
		a.law("Little's law takes a mean", f, x)
		if _, is := x.share(); !is {
			continue
		}
		a.say("Little's law takes a mean", f.ID, Finding{
			Finding: laws.Finding{
				Grade: laws.Implausible, Law: "X = N/R", Value: f.Value, Unit: "1/s", Assumes: "that every request takes as long as the " + x.Statistic,
				Text: fmt.Sprintf("%s is given as %v and comes from a %s. Little's law holds for means: this is no throughput that the system would have.",
					sentence(f.Metric), f, x.Statistic),
			},
			Arithmetic: equals(r.expr, show(r.expr.eval(), -1)),
		}, f, x)
	}
}

// same: one setting was published twice.
func (a *auditor) same(f *Figure, r relation) {
	other, _ := r.row()
	a.law("one setting, two answers", f, other)
	if f.Value.Overlaps(other.Value) {
		return
	}
	ratio := f.Value.Div(other.Value)
	if ratio.Mid() < 1 {
		ratio = other.Value.Div(f.Value)
	}
	assumes := f.Assumes
	if assumes == "" {
		assumes = "a difference between the runs that isn't stated, or noise of that size"
	}
	a.say("one setting, two answers", keyOf(f, r), Finding{
		Finding: laws.Finding{
			Grade: laws.Implausible, Law: "one setting, one answer", Value: ratio, Unit: "1", Assumes: assumes,
			Text: fmt.Sprintf("%s is %v in one place and %v in another, %s times as much.", described(f), f, other, short(ratio)),
		},
		Arithmetic: fmt.Sprintf("%v against %v", f, other),
	}, f, other)
}

// described names a figure with its arm.
func described(f *Figure) string {
	if f.Arm == "" {
		return sentence(f.Metric)
	}
	return sentence(f.Metric) + " (" + f.Arm + ")"
}

// part: a part of a response takes at most the whole of it, in the mean and at
// every percentile. It says whether it does.
func (a *auditor) part(f, whole *Figure) bool {
	a.law("a part is at most the whole", f, whole)
	if orderOf(f.Value, whole.Value) != above {
		return true
	}
	a.say("a part is at most the whole", f.ID+"/"+whole.ID, Finding{
		Finding: laws.Finding{
			Grade: laws.Impossible, Law: "a part is at most the whole", Value: f.Value.Div(whole.Value), Unit: "1",
			Text: fmt.Sprintf("%s is %v, and the whole that it is a part of, %s, is %v. They are of another run, load or population, and can't be held against each other.",
				described(f), f, described(whole), whole),
		},
		Arithmetic: fmt.Sprintf("%v > %v", f, whole),
	}, f, whole)
	return false
}

// sum: parts that are longer together than the whole must have overlapped.
func (a *auditor) sum(whole *Figure, parts []*Figure) {
	if len(parts) < 2 {
		return
	}
	all := laws.Interval{}
	var text []string
	for _, p := range parts {
		all = all.Add(p.Value)
		text = append(text, p.String())
	}
	figs := append([]*Figure{whole}, parts...)
	a.law("sum of parts", figs...)
	if orderOf(all, whole.Value) != above {
		return
	}
	a.say("sum of parts", whole.ID, Finding{
		Finding: laws.Finding{
			Grade: laws.Implausible, Law: "the parts sum up to the whole", Value: all, Unit: "s",
			Text: fmt.Sprintf("The parts of %s are %s together, and the whole is %v.", described(whole), show(all, 1), whole),

			Assumes: "parts that went on side by side, or that were taken in another run",
		},
		Arithmetic: strings.Join(text, " + ") + " = " + show(all, 1),
	}, figs...)
}

// work: what does more takes at least as long.
func (a *auditor) work(f *Figure, r relation) {
	other, _ := r.row()
	a.law("more work takes longer", f, other)
	more, fewer := f, other
	if r.verb == lessWork {
		more, fewer = other, f
	}
	if orderOf(more.Value, fewer.Value) != below {
		return
	}
	off := laws.Exact(1).Sub(more.Value.Div(fewer.Value))
	assumes := f.Assumes
	if assumes == "" {
		assumes = fmt.Sprintf("noise of one run of at least %s", percent(off))
	}
	a.say("more work takes longer", f.ID, Finding{
		Finding: laws.Finding{
			Grade: laws.Implausible, Law: "more work takes longer", Value: off, Unit: "1", Assumes: assumes,
			Text: fmt.Sprintf("%s takes %v and does what %s does and more, which takes %v.",
				described(more), more, described(fewer), fewer),
		},
		Arithmetic: fmt.Sprintf("%v < %v", more, fewer),
	}, f, other)
}

// copied: two runs don't agree in every figure to the last digit. pairs has each
// figure and the one that it is said to be independent of.
func (a *auditor) copied(group string, pairs []*Figure) {
	if len(pairs) < 4 {
		return // one agreement is chance
	}
	var how []string
	for i := 0; i < len(pairs); i += 2 {
		if !pairs[i].Value.Contains(pairs[i+1].Value.Mid()) {
			return
		}
		how = append(how, fmt.Sprintf("%v is %v", pairs[i], pairs[i+1]))
	}
	a.say("apart", group, Finding{
		Finding: laws.Finding{
			Grade: laws.Implausible, Law: "two runs differ", Value: laws.Exact(float64(len(pairs) / 2)), Unit: "rows",
			Text: fmt.Sprintf("All %d figures of this table are those of another one, rounded: it is a copy, no second run.", len(pairs)/2),

			Assumes: "two runs that agree to the last digit in every row",
		},
		Arithmetic: strings.Join(how, ", "),
	}, pairs...)
}

// bound: a stated limit.
func (a *auditor) bound(f *Figure, r relation) {
	figs := r.expr.rows([]*Figure{f})
	a.law("bound", figs...)
	limit := r.expr.eval()
	if broken, _ := r.verb.judge(f.Value, limit); !broken {
		return
	}
	a.say("bound", keyOf(f, r), Finding{
		Finding: laws.Finding{
			Grade: f.grade(), Law: "a bound that other rows set", Value: f.Value.Div(limit), Unit: "1", Assumes: f.Assumes,
			Text: fmt.Sprintf("%s is given as %v, and must be %s %s (%s times that).", described(f), f, r.verb.words(), like(f, limit), short(f.Value.Div(limit))),
		},
		Arithmetic: fmt.Sprintf("%v %s %s", f, r.verb, r.expr.text()),
	}, figs...)
}

func (v verb) words() string {
	switch v {
	case atMost:
		return "at most"
	case atLeast:
		return "at least"
	case less:
		return "less than"
	case greater:
		return "more than"
	}
	return "equal to"
}

// statement: a comparison that was published in words.
func (a *auditor) statement(f *Figure, r relation) {
	figs := r.expr.rows(r.left.rows(nil))
	if len(figs) == 0 {
		return // numbers alone: nothing was published
	}
	a.law("statement", figs...)
	a.alike(f, figs)
	l, x := r.left.eval(), r.expr.eval()
	broken, holds := r.verb.judge(l, x)
	d := r.left.dim()
	how := equals(r.left, show(l, d)) + ", against " + equals(r.expr, show(x, d))
	f2 := Finding{
		Finding:    laws.Finding{Law: "a statement holds of its own figures", Value: l, Unit: unitOf(d)},
		Arithmetic: how,
	}
	says := fmt.Sprintf("%q needs %s to be %s %s", f.Metric, show(l, d), r.verb.words(), show(x, d))
	switch {
	case broken:
		f2.Grade, f2.Assumes = f.grade(), f.Assumes
		f2.Text = says + ", and it isn't."
	case holds:
		f2.Grade = laws.Must
		f2.Text = says + ", and it is."
	case r.verb == less || r.verb == greater:
		f2.Grade = laws.Implausible
		f2.Text = says + ", and the figures show no difference."
		if f2.Assumes = f.Assumes; f2.Assumes == "" {
			f2.Assumes = "a difference that rounding hides"
		}
	default:
		return
	}
	key := keyOf(f, r)
	if len(f.relations) > 1 && key == f.ID {
		key = f.ID + "/1"
	}
	// The statement itself is no figure, but it is what a reader looks for.
	a.law("statement", f)
	a.say("statement", key, f2, slices.Concat([]*Figure{f}, figs)...)
}
