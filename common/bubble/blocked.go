package bubble

import (
	"cmp"
	"fmt"
	"path"
	"runtime"
	"slices"
	"strings"
)

// BlockedError says which goroutines of a bubble are still there and what they
// wait for. errors.Is tells whether it is [ErrDeadlock], [ErrLeak] or
// [ErrStuck].
type BlockedError struct {
	Kind       error
	Goroutines []Goroutine // those that stop the clock come first
	Stacks     string      // in full, as the Go runtime prints them
	advice     string
}

// Goroutine is where a goroutine is.
type Goroutine struct {
	State   string // the runtime's word: "chan receive (durable)", "sync.Mutex.Lock", "running"
	In      string // the innermost function that isn't the runtime's or another wait's, with file and line
	For     string // the innermost function outside the standard library, if In isn't that
	Creator string // the function that started it, with file and line
}

func (g Goroutine) String() string {
	s := g.State + " in " + g.In
	if g.For != "" {
		s += ", for " + g.For
	}
	if g.Creator != "" {
		s += ", started by " + g.Creator
	}
	return s
}

// Durable says whether the clock can move on while the goroutine waits.
func (g Goroutine) Durable() bool { return strings.Contains(g.State, "(durable)") }

// maxLines is how many different waits an error shows.
const maxLines = 20

func (e *BlockedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "bubble: %v: %d goroutines: %s", e.Kind, len(e.Goroutines), e.advice)
	lines, count := groups(e.Goroutines)
	for i, line := range lines {
		if i == maxLines {
			fmt.Fprintf(&b, "\n\tand %d other places", len(lines)-i)
			break
		}
		fmt.Fprintf(&b, "\n\t%d x %s", count[line], line)
	}
	return b.String()
}

// groups returns the different texts in the order of their first goroutine.
func groups(gs []Goroutine) (lines []string, count map[string]int) {
	count = make(map[string]int)
	for _, g := range gs {
		s := g.String()
		if count[s]++; count[s] == 1 {
			lines = append(lines, s)
		}
	}
	return lines, count
}

// Unwrap is the kind.
func (e *BlockedError) Unwrap() error { return e.Kind }

// blocked looks where the bubble's goroutines are.
func (b *bubble) blocked(kind error, advice string) error {
	e := &BlockedError{Kind: kind, advice: advice}
	id := b.id.Load()
	if id == nil || *id == "" {
		return e
	}
	var kept []string
	for _, s := range strings.Split(allStacks(), "\n\n") {
		if bubbleOf(s) != *id || own(s) {
			continue
		}
		e.Goroutines = append(e.Goroutines, parseGoroutine(s))
		kept = append(kept, s)
	}
	e.Stacks = strings.Join(kept, "\n\n")
	slices.SortStableFunc(e.Goroutines, func(x, y Goroutine) int {
		return cmp.Or(rank(x)-rank(y), cmp.Compare(x.String(), y.String()))
	})
	return e
}

func rank(g Goroutine) int {
	if g.Durable() {
		return 1
	}
	return 0
}

// own says whether a goroutine belongs to this package or to synctest.
func own(stack string) bool {
	return strings.Contains(stack, "\ntesting/synctest.") ||
		strings.Contains(stack, thisPackage+".(*bubble).inside(") ||
		strings.Contains(stack, thisPackage+".(*bubble).watch(")
}

var thisPackage = func() string {
	pc, _, _, _ := runtime.Caller(0)
	return packageOf(runtime.FuncForPC(pc).Name())
}()

// allStacks is a dump of all goroutines, up to 64 MiB.
func allStacks() string {
	for size := 1 << 18; ; size *= 4 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size || size >= 1<<26 {
			return string(buf[:n])
		}
	}
}

// bubbleID is the runtime's name for the bubble of the caller, or nothing.
func bubbleID() string {
	var buf [256]byte
	return bubbleOf(string(buf[:runtime.Stack(buf[:], false)]))
}

// bubbleOf reads the bubble from a goroutine's first line:
//
//	goroutine 7 [chan receive (durable), 2 minutes, synctest bubble 3]:
func bubbleOf(stack string) string {
	line, _, _ := strings.Cut(stack, "\n")
	_, id, ok := strings.Cut(line, ", synctest bubble ")
	if !ok {
		return ""
	}
	digits := strings.IndexFunc(id, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		return id
	}
	return id[:digits]
}

// parseGoroutine reads one goroutine of a dump: a first line, then two lines
// for each call, innermost first, and two for the call that started it.
func parseGoroutine(stack string) Goroutine {
	lines := strings.Split(strings.TrimSpace(stack), "\n")
	var g Goroutine
	if _, s, ok := strings.Cut(lines[0], "["); ok {
		s = strings.TrimSuffix(s, "]:")
		g.State, _, _ = strings.Cut(s, ",")
	}
	inner := true // g.In isn't known, or is one of the standard library's or ours
	for i := 1; i+1 < len(lines); i += 2 {
		name := lines[i]
		if s, ok := strings.CutPrefix(name, "created by "); ok {
			s, _, _ = strings.Cut(s, " in goroutine ")
			if packageOf(s) != thisPackage {
				g.Creator = s + place(lines[i+1])
			}
			break
		}
		if end := strings.LastIndexByte(name, '('); end > 0 {
			name = name[:end]
		}
		pkg := packageOf(name)
		if !inner || waits(pkg) {
			continue
		}
		passed := standard(pkg) || pkg == thisPackage
		switch {
		case g.In == "":
			g.In = name + place(lines[i+1])
		case !passed:
			g.For = name + place(lines[i+1])
		}
		inner = passed
	}
	return g
}

// place turns "\t/home/me/x/file.go:12 +0x1d" into " (file.go:12)".
func place(line string) string {
	file, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return " (" + path.Base(strings.ReplaceAll(file, `\`, "/")) + ")"
}

// packageOf is the path of a function's package.
func packageOf(function string) string {
	slash := strings.LastIndexByte(function, '/') + 1
	dot := strings.IndexByte(function[slash:], '.')
	if dot < 0 {
		return function
	}
	return function[:slash+dot]
}

// waits says whether a package is where goroutines block on behalf of others.
func waits(pkg string) bool {
	return pkg == "runtime" || pkg == "sync" || pkg == "time" || strings.HasPrefix(pkg, "internal/")
}

// standard says whether a package is in the standard library: its path has no
// dot in its first part.
func standard(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return first != "main" && !strings.Contains(first, ".")
}
