package fake

import (
	"strings"
)

// token is a word, number, quoted text or operator of a statement.
type token struct {
	kind rune   // 'w'ord, 'n'umber, 's'tring, 'p'arameter, 'o'perator, and 'x' for what can't be read
	text string // words in lower case, strings without their quotes
	at   int    // byte in the text
}

// tokens cuts a text as PostgreSQL does, without comments. A string that doesn't
// end is of kind x, and so is whatever else makes no token.
func tokens(sql string) (all []token) {
	for i := 0; i < len(sql); {
		c := sql[i]
		start := i
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			i++
			continue
		case strings.HasPrefix(sql[i:], "--"):
			if end := strings.IndexByte(sql[i:], '\n'); end >= 0 {
				i += end
			} else {
				i = len(sql)
			}
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			end := strings.Index(sql[i+2:], "*/")
			if end < 0 {
				return append(all, token{'x', sql[i:], i})
			}
			i += end + 4
			continue
		case letter(c) || c >= 0x80:
			for i < len(sql) && (letter(sql[i]) || digit(sql[i]) || sql[i] >= 0x80) {
				i++
			}
			all = append(all, token{'w', strings.ToLower(sql[start:i]), start})
		case digit(c) || c == '.' && i+1 < len(sql) && digit(sql[i+1]):
			for i < len(sql) && (digit(sql[i]) || sql[i] == '.') {
				i++
			}
			if i < len(sql) && (sql[i] == 'e' || sql[i] == 'E') {
				end := i + 1
				if end < len(sql) && (sql[end] == '-' || sql[end] == '+') {
					end++
				}
				if end < len(sql) && digit(sql[end]) {
					for i = end; i < len(sql) && digit(sql[i]); {
						i++
					}
				}
			}
			all = append(all, token{'n', sql[start:i], start})
		case c == '\'':
			text, end, ok := quoted(sql, i)
			if !ok {
				return append(all, token{'x', sql[i:], i})
			}
			all, i = append(all, token{'s', text, start}), end
		case c == '"':
			end := strings.IndexByte(sql[i+1:], '"')
			if end < 0 {
				return append(all, token{'x', sql[i:], i})
			}
			all, i = append(all, token{'w', sql[i+1 : i+1+end], start}), i+end+2
		case c == '$' && i+1 < len(sql) && digit(sql[i+1]):
			for i++; i < len(sql) && digit(sql[i]); {
				i++
			}
			all = append(all, token{'p', sql[start+1 : i], start})
		case c == ':' && strings.HasPrefix(sql[i:], "::"):
			all, i = append(all, token{'o', "::", start}), i+2
		case strings.IndexByte("+-*/<>=~!@#%^&|`?", c) >= 0:
			for i < len(sql) && strings.IndexByte("+-*/<>=~!@#%^&|`?", sql[i]) >= 0 && (i == start || sql[i] != '-' && sql[i] != '+' || i+1 < len(sql) && sql[i+1] == '>') {
				i++
			}
			all = append(all, token{'o', sql[start:i], start})
		case strings.IndexByte("()[],;.:", c) >= 0:
			i++
			all = append(all, token{'o', sql[start:i], start})
		default:
			return append(all, token{'x', sql[i:], i})
		}
	}
	return all
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// quoted reads a string whose quote is at i; two quotes stand for one.
func quoted(sql string, i int) (text string, end int, ok bool) {
	var b strings.Builder
	for i++; i < len(sql); i++ {
		if sql[i] != '\'' {
			b.WriteByte(sql[i])
			continue
		}
		if i+1 < len(sql) && sql[i+1] == '\'' {
			i++
			b.WriteByte('\'')
			continue
		}
		return b.String(), i + 1, true
	}
	return "", i, false
}

// split cuts a text of several statements at its semicolons.
func split(all []token) (statements [][]token) {
	start := 0
	for i, t := range all {
		if t.kind == 'o' && t.text == ";" {
			if i > start {
				statements = append(statements, all[start:i])
			}
			start = i + 1
		}
	}
	if start < len(all) {
		statements = append(statements, all[start:])
	}
	return statements
}

// A literal stands for a parameter: a constant of the text, or the number of a
// parameter of its own.
type literal struct {
	text  string
	null  bool
	param int // from 1 on; 0 for a constant
}

// match compares a statement with a pattern, in which parameters stand for
// literals, and gives a literal for each. A parameter that the pattern has twice
// must be the same literal both times.
func match(pattern, statement []token, params int) ([]literal, bool) {
	got, set := make([]literal, params), make([]bool, params)
	for _, p := range pattern {
		if p.kind != 'p' {
			if len(statement) == 0 || statement[0].kind != p.kind || statement[0].text != p.text {
				return nil, false
			}
			statement = statement[1:]
			continue
		}
		l, n := readLiteral(statement)
		if n == 0 {
			return nil, false
		}
		statement = statement[n:]
		k := number(p.text) - 1
		if set[k] && got[k] != l {
			return nil, false
		}
		got[k], set[k] = l, true
	}
	return got, len(statement) == 0
}

// readLiteral reads a constant, signed and in parentheses if need be, or a
// parameter, and says how many tokens it took; 0 if there is none.
func readLiteral(t []token) (l literal, n int) {
	open, minus := 0, false
	for ; n < len(t) && t[n].kind == 'o'; n++ {
		switch t[n].text {
		case "(":
			open++
		case "-":
			minus = !minus
		case "+":
		default:
			return l, 0
		}
	}
	if n == len(t) {
		return l, 0
	}
	switch {
	case t[n].kind == 'n' || t[n].kind == 's' && !minus:
		l.text = t[n].text
		if minus {
			l.text = "-" + l.text
		}
	case t[n].kind == 'p' && !minus:
		l.param = number(t[n].text)
	case t[n].kind == 'w' && t[n].text == "null" && !minus:
		l.null = true
	default:
		return l, 0
	}
	n++
	for range open {
		if n == len(t) || t[n].text != ")" || t[n].kind != 'o' {
			return l, 0
		}
		n++
	}
	return l, n
}

// number reads a parameter's number; one that is absurd is 0.
func number(digits string) (n int) {
	for i := range len(digits) {
		if n = n*10 + int(digits[i]-'0'); n > 1<<16 {
			return 0
		}
	}
	return n
}
