package fake

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// Types by their object id.
const (
	oidBool      = 16
	oidInt8      = 20
	oidInt2      = 21
	oidInt4      = 23
	oidText      = 25
	oidFloat4    = 700
	oidFloat8    = 701
	oidUnknown   = 705
	oidInt8Array = 1016
	oidNumeric   = 1700
	oidVoid      = 2278
)

const binaryFormat = 1

// A column of an answer.
type column struct {
	name string
	oid  uint32
}

func (c column) size() int16 {
	switch c.oid {
	case oidBool:
		return 1
	case oidInt4:
		return 4
	case oidInt8, oidFloat8:
		return 8
	case oidVoid:
		return 4
	}
	return -1
}

func describe(columns []column, formats []int16) *pgproto3.RowDescription {
	d := &pgproto3.RowDescription{}
	for i, c := range columns {
		d.Fields = append(d.Fields, pgproto3.FieldDescription{
			Name: []byte(c.name), DataTypeOID: c.oid, DataTypeSize: c.size(), TypeModifier: -1, Format: formatOf(formats, i),
		})
	}
	return d
}

// formatOf is the protocol's rule: no code means text, one is for all.
func formatOf(formats []int16, i int) int16 {
	switch len(formats) {
	case 0:
		return 0
	case 1:
		return formats[0]
	}
	return formats[i]
}

// value is one value of an answer or of a parameter. Which field counts follows
// from its type.
type value struct {
	null bool
	i    int64
	f    float64
	s    string
	list []int64
}

// appendRow appends a DataRow.
func appendRow(b []byte, columns []column, row []value, formats []int16) []byte {
	at := len(b)
	b = append(b, 'D', 0, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(len(row)))
	for i := range row {
		v := &row[i]
		if v.null {
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		size := len(b)
		b = append(b, 0, 0, 0, 0)
		b = v.append(b, columns[i].oid, formatOf(formats, i))
		binary.BigEndian.PutUint32(b[size:], uint32(len(b)-size-4))
	}
	binary.BigEndian.PutUint32(b[at+1:], uint32(len(b)-at-1))
	return b
}

func (v *value) append(b []byte, oid uint32, format int16) []byte {
	isBinary := format == binaryFormat
	switch oid {
	case oidInt8:
		if isBinary {
			return binary.BigEndian.AppendUint64(b, uint64(v.i))
		}
		return strconv.AppendInt(b, v.i, 10)
	case oidInt4:
		if isBinary {
			return binary.BigEndian.AppendUint32(b, uint32(v.i))
		}
		return strconv.AppendInt(b, v.i, 10)
	case oidFloat8:
		if isBinary {
			return binary.BigEndian.AppendUint64(b, math.Float64bits(v.f))
		}
		return appendFloat(b, v.f)
	case oidBool:
		switch {
		case isBinary:
			return append(b, byte(v.i))
		case v.i != 0:
			return append(b, 't')
		}
		return append(b, 'f')
	case oidVoid:
		return b
	}
	return append(b, v.s...)
}

// appendFloat writes a float8 as PostgreSQL does: the shortest text that reads
// as the same number, with an exponent if that is below -4 or above 14.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, "NaN"...)
	case math.IsInf(f, 1):
		return append(b, "Infinity"...)
	case math.IsInf(f, -1):
		return append(b, "-Infinity"...)
	case f != 0 && (math.Abs(f) < 1e-4 || math.Abs(f) >= 1e15):
		return strconv.AppendFloat(b, f, 'e', -1, 64)
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

// readParam reads a parameter that the statement wants as one type and the
// client may send as another that is cast to it.
func readParam(want, given uint32, format int16, raw []byte) (value, *pgproto3.ErrorResponse) {
	if raw == nil {
		return value{null: true}, nil
	}
	if given == 0 || given == oidUnknown {
		given = want
	}
	switch {
	case format != 0 && format != binaryFormat:
		return value{}, sqlError(codeProtocol, "unsupported format code: %d", format)
	case format == binaryFormat:
		v, ok := readBinary(want, given, raw)
		if !ok {
			return value{}, sqlError(codeProtocol, "insufficient data left in message for a parameter of type %d", given)
		}
		return v, nil
	}
	return readText(want, string(raw))
}

func readBinary(want, given uint32, raw []byte) (v value, ok bool) {
	switch {
	case given == oidInt8Array:
		v.list, ok = readInt8s(raw)
		return v, ok && want == oidInt8Array
	case given == oidText:
		v, err := readText(want, string(raw))
		return v, err == nil
	case given == oidFloat8 && len(raw) == 8:
		v.f = math.Float64frombits(binary.BigEndian.Uint64(raw))
		v.i = int64(math.RoundToEven(v.f))
	case given == oidFloat4 && len(raw) == 4:
		v.f = float64(math.Float32frombits(binary.BigEndian.Uint32(raw)))
		v.i = int64(math.RoundToEven(v.f))
	case given == oidInt8 && len(raw) == 8:
		v.i = int64(binary.BigEndian.Uint64(raw))
		v.f = float64(v.i)
	case given == oidInt4 && len(raw) == 4:
		v.i = int64(int32(binary.BigEndian.Uint32(raw)))
		v.f = float64(v.i)
	case given == oidInt2 && len(raw) == 2:
		v.i = int64(int16(binary.BigEndian.Uint16(raw)))
		v.f = float64(v.i)
	default:
		return v, false
	}
	return v, want == oidFloat8 || want == oidInt8 || want == oidInt4
}

// readInt8s reads a bigint[] of one dimension without nulls.
func readInt8s(raw []byte) ([]int64, bool) {
	if len(raw) < 12 || binary.BigEndian.Uint32(raw[8:]) != oidInt8 {
		return nil, false
	}
	switch binary.BigEndian.Uint32(raw) {
	case 0:
		return nil, len(raw) == 12
	case 1:
	default:
		return nil, false
	}
	if len(raw) < 20 {
		return nil, false
	}
	n := int64(binary.BigEndian.Uint32(raw[12:]))
	if raw = raw[20:]; int64(len(raw)) != n*12 {
		return nil, false
	}
	list := make([]int64, n)
	for i := range list {
		if binary.BigEndian.Uint32(raw[i*12:]) != 8 {
			return nil, false
		}
		list[i] = int64(binary.BigEndian.Uint64(raw[i*12+4:]))
	}
	return list, true
}

func readText(want uint32, s string) (v value, fail *pgproto3.ErrorResponse) {
	invalid := func(name string) *pgproto3.ErrorResponse {
		return sqlError(codeText, "invalid input syntax for type %s: %q", name, s)
	}
	var err error
	switch trimmed := strings.TrimSpace(s); want {
	case oidFloat8:
		if v.f, err = strconv.ParseFloat(trimmed, 64); err != nil {
			return v, invalid("double precision")
		}
	case oidInt8, oidInt4:
		if v.i, err = strconv.ParseInt(trimmed, 10, 64); err != nil {
			f, err := strconv.ParseFloat(trimmed, 64)
			if err != nil || math.Abs(f) > 1<<62 || !strings.ContainsAny(trimmed, ".eE") {
				return v, invalid("bigint")
			}
			v.i = int64(math.RoundToEven(f))
		}
	case oidInt8Array:
		inner, ok := strings.CutPrefix(trimmed, "{")
		if inner, ok2 := strings.CutSuffix(inner, "}"); ok && ok2 {
			if strings.TrimSpace(inner) == "" {
				return v, nil
			}
			for part := range strings.SplitSeq(inner, ",") {
				n, err := strconv.ParseInt(strings.TrimSpace(part), 10, 64)
				if err != nil {
					return v, invalid("bigint")
				}
				v.list = append(v.list, n)
			}
			return v, nil
		}
		return v, sqlError(codeText, "malformed array literal: %q", s)
	default:
		v.s = s
	}
	return v, nil
}

// Codes of SQL errors.
const (
	codeProtocol  = "08P01"
	codeFeature   = "0A000"
	codeText      = "22P02"
	codeLimit     = "2201W"
	codeNoPrep    = "26000"
	codePrepTwice = "42P05"
	codeNoPortal  = "34000"
	codeSyntax    = "42601"
	codeNoParam   = "42P02"
	codeUndefined = "42704"
	codeAborted   = "25P02"
	codeTooMany   = "53300"
	codeCanceled  = "57014"
	codeShutdown  = "57P01"
	codeStarting  = "57P03"
	codeInjected  = "58000" // a system error, which no client mistakes for its own fault
)

func sqlError(code, format string, args ...any) *pgproto3.ErrorResponse {
	return &pgproto3.ErrorResponse{Severity: "ERROR", SeverityUnlocalized: "ERROR", Code: code, Message: fmt.Sprintf(format, args...)}
}

func fatal(code, format string, args ...any) *pgproto3.ErrorResponse {
	e := sqlError(code, format, args...)
	e.Severity, e.SeverityUnlocalized = "FATAL", "FATAL"
	return e
}
