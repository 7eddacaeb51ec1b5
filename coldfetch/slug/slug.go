// Package slug turns the name of a document into the slug that stands in a URL,
// and the slug into the key of its object. The service and the seeder both use
// it: a key that is typed by hand is another key.
//
// Names are bytes, not text. A Korean name in NFC and the same name in NFD are
// two names, with two slugs and two keys, and neither is ever normalised.
//
// A slug reads like its name: a space becomes a hyphen, and letters stay. All
// that could mean something to a URL, to XML, to a shell or to a path is written
// as a tilde and two hex digits.
//
//  1. 연구개발계획서 양식_서울지방청
//     1.-연구개발계획서-양식_서울지방청
//     ../etc/passwd
//     ~2E~2E~2Fetc~2Fpasswd
package slug

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxKey is the longest key that S3 takes, in bytes.
const MaxKey = 1024

// maxPiece is the longest part of a key between slashes. A file system takes
// names of 255 bytes, and 42 syllables of Hangul are 324 bytes in NFD; servers
// that keep objects as files refuse more.
const maxPiece = 200

var (
	// ErrName occurs when a name has no slug: it is empty, or its key is too long.
	ErrName = errors.New("not a document name")
	// ErrSlug occurs when a text is the slug of no name.
	ErrSlug = errors.New("not a slug")
	// ErrKey occurs when a key isn't the key of a slug under that root.
	ErrKey = errors.New("not a key of a document")
)

const digits = "0123456789ABCDEF"

// Of is the slug of a name: one segment of a URL's path, never empty, never "."
// or "..", and of no other name. The error wraps ErrName.
func Of(name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("%w: it is empty", ErrName)
	}
	s := encode(name)
	if len(s) > MaxKey {
		return "", fmt.Errorf("%w: a slug of %d bytes, and a key has at most %d (the name begins with %.40q)", ErrName, len(s), MaxKey, name)
	}
	return s, nil
}

// Name is the name whose slug this is. The error wraps ErrSlug: of all the ways
// to write a name with escapes, only the one that Of chooses is its slug.
func Name(slug string) (string, error) {
	if slug == "" {
		return "", fmt.Errorf("%w: it is empty", ErrSlug)
	}
	name := make([]byte, 0, len(slug))
	for i := 0; i < len(slug); i++ {
		switch c := slug[i]; c {
		case '-':
			name = append(name, ' ')
		case '~':
			if i+2 >= len(slug) {
				return "", fmt.Errorf("%w: %q ends within an escape; it is ~ and two hex digits", ErrSlug, slug)
			}
			hi, lo := strings.IndexByte(digits, slug[i+1]), strings.IndexByte(digits, slug[i+2])
			if hi < 0 || lo < 0 {
				return "", fmt.Errorf("%w: %q has %q at byte %d; an escape is ~ and two of %s", ErrSlug, slug, slug[i:i+3], i, digits)
			}
			name = append(name, byte(hi<<4|lo))
			i += 2
		default:
			name = append(name, c)
		}
	}
	if encode(string(name)) != slug {
		return "", fmt.Errorf("%w: %q; the slug of %q is %q", ErrSlug, slug, name, encode(string(name)))
	}
	return string(name), nil
}

// Key is the key of a slug's object: root, a slash, and the slug. A long slug is
// cut into pieces with slashes between; each piece but the last ends with a bare
// tilde, so that no key is a folder of another. An empty root adds nothing.
//
// The error wraps ErrSlug, ErrKey for a root that isn't a clean relative path, or
// ErrName if the key is too long.
func Key(root, slug string) (string, error) {
	if _, err := Name(slug); err != nil {
		return "", err
	}
	if err := checkRoot(root); err != nil {
		return "", err
	}
	var key strings.Builder
	if root != "" {
		key.WriteString(root)
		key.WriteByte('/')
	}
	for len(slug) > maxPiece {
		n := cut(slug)
		key.WriteString(slug[:n])
		key.WriteString("~/")
		slug = slug[n:]
	}
	key.WriteString(slug)
	if key.Len() > MaxKey {
		return "", fmt.Errorf("%w: a key of %d bytes under root %q, and S3 takes at most %d", ErrName, key.Len(), root, MaxKey)
	}
	return key.String(), nil
}

// OfKey is the slug whose key this is. The error wraps ErrKey.
func OfKey(root, key string) (string, error) {
	rest := key
	if root != "" {
		var ok bool
		if rest, ok = strings.CutPrefix(key, root+"/"); !ok {
			return "", fmt.Errorf("%w: %q isn't under root %q", ErrKey, key, root)
		}
	}
	slug := strings.ReplaceAll(rest, "~/", "")
	if again, err := Key(root, slug); err != nil || again != key {
		return "", fmt.Errorf("%w: %q under root %q", ErrKey, key, root)
	}
	return slug, nil
}

// File is a file name for a key's local copy: the SHA-256 of the key in 64 hex
// digits. It is the same on every file system, also on those that fold case or
// normalise Unicode, where two keys would meet in one file if it showed them.
func File(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

func encode(name string) string {
	var b strings.Builder
	b.Grow(len(name) + 16)
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '.' && i > 0 && i+1 < len(name) && name[i-1] != '.', kept(r, n):
			b.WriteString(name[i : i+n])
		default:
			for _, c := range []byte(name[i : i+n]) {
				b.WriteByte('~')
				b.WriteByte(digits[c>>4])
				b.WriteByte(digits[c&15])
			}
		}
		i += n
	}
	return b.String()
}

// kept says that a rune of n bytes stands for itself. The rule uses no table of
// Unicode's: a new version of it would change slugs.
func kept(r rune, n int) bool {
	switch {
	case r == utf8.RuneError && n == 1: // not UTF-8
		return false
	case r < 0x80:
		return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	case r <= 0xA0, // controls and the no-break space
		0x2000 <= r && r <= 0x206F, // spaces, line ends, marks that turn the direction of writing
		r == 0x3000,                // a space as wide as a syllable
		0xE000 <= r && r <= 0xF8FF, // private
		r == 0xFEFF,                // the byte order mark
		0xFFF0 <= r && r <= 0xFFFF, // XML has no way to write the last two
		r >= 0xE0000:               // tags and private
		return false
	}
	return true
}

// cut is where to end a piece of a long slug: at most at maxPiece less its tilde,
// and neither in a rune nor in an escape.
func cut(slug string) int {
	n := maxPiece - 1
	for !utf8.RuneStart(slug[n]) {
		n--
	}
	for back := 1; back <= 2; back++ {
		if slug[n-back] == '~' {
			return n - back
		}
	}
	return n
}

func checkRoot(root string) error {
	if root == "" {
		return nil
	}
	for part := range strings.SplitSeq(root, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsRune(part, 0) {
			return fmt.Errorf("%w: root %q must be a relative path whose parts are neither empty nor . nor .. nor hold a zero byte", ErrKey, root)
		}
	}
	return nil
}
