package coldfetch

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
)

// ErrDocument occurs when a file isn't a document.
var ErrDocument = errors.New("not a document")

const magic = "latlab-document 1"

// maxText is the longest text of a document in bytes.
const maxText = 16 << 20

// Generate makes a document of about size bytes for tests and seeding: a text of
// at most 48 KB, and the rest an attachment that nobody reads, as pictures are. The
// same arguments give the same bytes.
func Generate(title string, size int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, uint64(size)))
	var text strings.Builder
	for i := 0; text.Len() < min(size*3/4, 48<<10); i++ {
		if i%12 == 0 {
			fmt.Fprintf(&text, "%s %s\n", strings.Repeat("#", 1+i/12%3), sentence(r, 3))
			continue
		}
		text.WriteString(sentence(r, 8+r.IntN(16)))
		text.WriteByte('\n')
	}
	head := func(attachment int) string {
		return fmt.Sprintf("%s\ntitle %s\ntext %d\nattachment %d\n\n", magic, strings.ReplaceAll(title, "\n", " "), text.Len(), attachment)
	}
	rest := max(size-text.Len()-len(head(size)), 0)
	b := append(append(make([]byte, 0, size+64), head(rest)...), text.String()...)
	for len(b) < cap(b) && rest > 0 {
		var word [8]byte
		v := r.Uint64()
		for i := range word {
			word[i] = byte(v >> (8 * i))
		}
		n := min(rest, len(word))
		b = append(b, word[:n]...)
		rest -= n
	}
	return b
}

var words = strings.Fields(`연구 개발 계획 양식 서울 지방 사업 목표 예산 기관 일정 성과 평가 자료 검토 제출
	plan budget form office region report project goal review result schedule annex table figure section note`)

func sentence(r *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		w := words[r.IntN(len(words))]
		b.WriteString(w)
		if r.IntN(3) == 0 { // most terms are rare
			fmt.Fprintf(&b, "%d", r.IntN(400))
		}
	}
	return b.String()
}

// Source is the part of a document that a build reads.
type Source struct {
	Title string
	Text  string
}

// Open reads a document's text, and not its attachment. The error wraps
// ErrDocument or is the file's.
func Open(path string) (_ Source, err error) {
	f, err := os.Open(path)
	if err != nil {
		return Source{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return Source{}, err
	}
	src, whole, err := read(bufio.NewReader(f))
	if err == nil && whole != info.Size() {
		err = fmt.Errorf("%w: %d bytes, its head says %d", ErrDocument, info.Size(), whole)
	}
	if err != nil {
		return Source{}, fmt.Errorf("%s: %w", path, err)
	}
	return src, nil
}

// read gives the text, and how many bytes the document must have.
func read(r *bufio.Reader) (src Source, whole int64, err error) {
	line := func(prefix string) string {
		s, e := r.ReadString('\n')
		whole += int64(len(s))
		rest, ok := strings.CutPrefix(strings.TrimSuffix(s, "\n"), prefix)
		if err == nil && (e != nil || !ok) {
			err = fmt.Errorf("%w: %q where %q was expected", ErrDocument, s, prefix)
		}
		return rest
	}
	line(magic)
	src.Title = line("title ")
	text, attachment := line("text "), line("attachment ")
	line("")
	if err != nil {
		return src, 0, err
	}
	var t, a int64
	if _, err := fmt.Sscan(text+" "+attachment, &t, &a); err != nil || t < 0 || t > maxText || a < 0 {
		return src, 0, fmt.Errorf("%w: a text of %q bytes and an attachment of %q", ErrDocument, text, attachment)
	}
	b := make([]byte, t)
	if _, err := io.ReadFull(r, b); err != nil {
		return src, 0, fmt.Errorf("%w: the text ends too soon: %w", ErrDocument, err)
	}
	src.Text = string(b)
	return src, whole + t + a, nil
}
