package lesson_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"latlab.example/common/lab"
	"latlab.example/experiments/lesson"
	"latlab.example/experiments/registry"
)

func silent() (string, bool) { return "", false }

// Every lesson plays to its end without an answer, as in CI.
func TestLessonsPlay(t *testing.T) {
	for _, l := range lesson.All {
		t.Run(l.Case, func(t *testing.T) {
			var out bytes.Buffer
			if err := l.Play(t.Context(), &out, registry.All(), silent); err != nil {
				t.Fatal(err)
			}
			t.Log("\n" + out.String())
			if n := strings.Count(out.String(), "\nchange "); n != len(l.Steps) {
				t.Errorf("%d of %d steps were run", n, len(l.Steps))
			}
			if !strings.Contains(out.String(), "MODELLED") || l.Minutes == 0 {
				t.Error("it must say what its figures are, and how long it takes")
			}
		})
	}
}

// In each exercise the first idea fails, the answer's command solves it, and both
// stay within the rules.
func TestExercises(t *testing.T) {
	files := 0
	for _, l := range lesson.All {
		for _, x := range l.Exercises {
			t.Run(l.Case+"/"+x.Name, func(t *testing.T) {
				o, solved, err := x.Check(t.Context(), registry.All(), []string{x.Obvious})
				if err != nil || solved {
					t.Errorf("%s: solved %v, %v, ratio %+v; the first idea must fail", x.Obvious, solved, err, o.Ratio)
				}
				text, err := x.Answer(l)
				if err != nil {
					t.Fatal(err)
				}
				command := "latlab check " + l.Case + "/" + x.Name + " "
				var settings []string
				for line := range strings.Lines(text) {
					if rest, ok := strings.CutPrefix(strings.TrimSpace(line), command); ok {
						settings = strings.Fields(rest)
					}
				}
				o, solved, err = x.Check(t.Context(), registry.All(), settings)
				if err != nil || !solved {
					t.Errorf("the answer %v: solved %v, %v, ratio %+v", settings, solved, err, o.Ratio)
				}
				if strings.Contains(x.Text+x.Why, settings[0]) {
					t.Error("the exercise tells its answer")
				}
			})
			files++
		}
	}
	entries, err := os.ReadDir("answers")
	if err != nil || len(entries) != files {
		t.Errorf("%d answers for %d exercises, %v", len(entries), files, err)
	}
}

func TestAttemptsKeepTheRules(t *testing.T) {
	_, x, err := lesson.FindExercise("rawblock/one-channel")
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		settings []string
		want     error
	}{
		{nil, lesson.ErrSettings},
		{[]string{"channels=32"}, lesson.ErrSettings},
		{[]string{"strategy"}, lesson.ErrSettings},
		{[]string{"strategy=batch", "layout=aligned"}, lesson.ErrSettings},
		{[]string{"strategy=sequential"}, lesson.ErrSettings},
		{[]string{"strategy=magic"}, lab.ErrLevel},
	} {
		if _, _, err := x.Check(t.Context(), registry.All(), test.settings); !errors.Is(err, test.want) {
			t.Errorf("%v: %v, want %v", test.settings, err, test.want)
		}
	}
	for _, name := range []string{"nothing", "nothing/x", "rawblock/nothing"} {
		if _, _, err := lesson.FindExercise(name); !errors.Is(err, lesson.ErrLesson) {
			t.Errorf("%s: %v, want ErrLesson", name, err)
		}
	}
}

func TestPredictionsAreCompared(t *testing.T) {
	l, err := lesson.Find("rawblock")
	if err != nil {
		t.Fatal(err)
	}
	l.Steps = l.Steps[:2]
	given := []string{"half", "-50%", "30"}
	var out bytes.Buffer
	err = l.Play(t.Context(), &out, registry.All(), func() (string, bool) {
		if len(given) == 0 {
			return "", false
		}
		line := given[0]
		given = given[1:]
		return line, true
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"that is no change in percent", "you said    -50.0%", "times less than you thought", "you said    +30.0%"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it doesn't say %q:\n%s", want, out.String())
		}
	}
}
