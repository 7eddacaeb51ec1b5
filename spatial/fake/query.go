package fake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"

	"latlab.example/common/emu"
)

// A plan is a statement that was parsed.
type plan struct {
	statement *statement // nil if it is a command or empty
	command   *command
	args      []literal // one for each parameter of the statement
	consts    []value   // those of args that are constants
	oids      []uint32  // of the client's parameters: as it gave them
	params    []uint32  // as the statement wants them
	runs      int       // until now; a prepared statement is planned anew the first times
}

func (p *plan) columns() []column {
	switch {
	case p.statement != nil:
		return p.statement.columns
	case p.command != nil:
		return p.command.columns
	}
	return nil
}

// A portal is a plan with its arguments, and its answer once it was executed.
type portal struct {
	plan    *plan
	named   bool
	args    []value
	formats []int16
	ran     bool
	rows    []value    // those not sent yet
	sent    int        // by the Execute that is served
	fault   *emu.Fault // that acts when rows are sent
}

// planned is how often a prepared statement is planned on a backend, before
// PostgreSQL takes to a generic plan.
const planned = 5

// read makes a plan of one statement of a text.
func read(t []token, oids []uint32) (*plan, *pgproto3.ErrorResponse) {
	if len(t) == 0 {
		return &plan{}, nil
	}
	if i := slices.IndexFunc(t, func(t token) bool { return t.kind == 'x' }); i >= 0 {
		e := sqlError(codeSyntax, "syntax error at or near %q", short(t[i].text))
		e.Position = int32(t[i].at + 1)
		return nil, e
	}
	p := &plan{oids: oids}
	var fail *pgproto3.ErrorResponse
	if p.command, fail = commandOf(t); p.command != nil || fail != nil {
		return p, fail
	}
	if p.statement, p.args = find(t); p.statement == nil {
		return nil, unknown(t)
	}
	p.consts = make([]value, len(p.args))
	for i, a := range p.args {
		want := p.statement.params[i]
		switch {
		case a.null:
			p.consts[i].null = true
		case a.param > 0:
			for len(p.params) < a.param {
				p.params = append(p.params, oidText)
			}
			p.params[a.param-1] = want
		default:
			if p.consts[i], fail = readText(want, a.text); fail != nil {
				return nil, fail
			}
		}
	}
	return p, nil
}

var verbs = []string{
	"select", "insert", "update", "delete", "with", "values", "table", "explain", "create", "drop", "alter", "copy", "execute", "prepare", "analyze", "vacuum",
	"lock", "listen", "notify", "unlisten", "declare", "fetch", "move", "close", "truncate", "grant", "revoke", "comment", "call", "do", "savepoint", "release",
	"rollback", "merge", "reindex", "cluster", "checkpoint", "refresh", "import", "load", "reassign", "security", "start", "deallocate", "discard", "set", "reset", "show",
}

func unknown(t []token) *pgproto3.ErrorResponse {
	if !slices.Contains(verbs, t[0].text) && t[0].text != "(" {
		e := sqlError(codeSyntax, "syntax error at or near %q", short(t[0].text))
		e.Position = int32(t[0].at + 1)
		return e
	}
	var text string
	for i, k := range t {
		if i > 0 {
			text += " "
		}
		if text += k.text; len(text) > 100 {
			text = short(text)
			break
		}
	}
	e := sqlError(codeFeature, "the fake PostgreSQL doesn't know this statement: %s", text)
	e.Hint = "It answers the statements of package spatial (see its constants), transactions, SET, SHOW and a few functions. For anything else use a real PostGIS."
	return e
}

func short(s string) string {
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// simple answers a text of any number of statements.
func (x *session) simple(text string) error {
	all := split(tokens(text))
	if len(all) == 0 {
		x.send(&pgproto3.EmptyQueryResponse{})
		return nil
	}
	for _, t := range all {
		p, fail := read(t, nil)
		if fail == nil && len(p.params) > 0 {
			fail = sqlError(codeNoParam, "there is no parameter $%d", len(p.params))
		}
		if fail != nil {
			return x.fail(fail)
		}
		o := &portal{plan: p, args: p.consts}
		if c := p.columns(); c != nil {
			x.send(describe(c, nil))
		}
		if fail, err := x.fetch(o, 0); fail != nil || err != nil {
			if err != nil {
				return err
			}
			return x.fail(fail)
		}
	}
	return nil
}

func (x *session) parse(m *pgproto3.Parse) *pgproto3.ErrorResponse {
	if _, there := x.backend.prepared[m.Name]; there && m.Name != "" {
		return sqlError(codePrepTwice, "prepared statement %q already exists", m.Name)
	}
	all := split(tokens(m.Query))
	if len(all) > 1 {
		return sqlError(codeSyntax, "cannot insert multiple commands into a prepared statement")
	}
	var t []token
	if len(all) == 1 {
		t = all[0]
	}
	p, fail := read(t, slices.Clone(m.ParameterOIDs))
	if fail == nil && x.status == 'E' && !p.ends() {
		fail = aborted()
	}
	if fail != nil {
		return fail
	}
	x.backend.prepared[m.Name] = p
	x.send(&pgproto3.ParseComplete{})
	return nil
}

func aborted() *pgproto3.ErrorResponse {
	return sqlError(codeAborted, "current transaction is aborted, commands ignored until end of transaction block")
}

// ends says that the plan ends a transaction.
func (p *plan) ends() bool {
	return p.command != nil && (p.command.tag == "COMMIT" || p.command.tag == "ROLLBACK")
}

func noStatement(name string) *pgproto3.ErrorResponse {
	if name == "" {
		return sqlError(codeNoPrep, "unnamed prepared statement does not exist")
	}
	return sqlError(codeNoPrep, "prepared statement %q does not exist", name)
}

func (x *session) bind(m *pgproto3.Bind) *pgproto3.ErrorResponse {
	p, ok := x.backend.prepared[m.PreparedStatement]
	if !ok {
		return noStatement(m.PreparedStatement)
	}
	columns := p.columns()
	switch {
	case len(m.Parameters) != len(p.params):
		return sqlError(codeProtocol, "bind message supplies %d parameters, but prepared statement %q requires %d", len(m.Parameters), m.PreparedStatement, len(p.params))
	case len(m.ParameterFormatCodes) > 1 && len(m.ParameterFormatCodes) != len(m.Parameters):
		return sqlError(codeProtocol, "bind message has %d parameter formats but %d parameters", len(m.ParameterFormatCodes), len(m.Parameters))
	case len(m.ResultFormatCodes) > 1 && len(m.ResultFormatCodes) != len(columns):
		return sqlError(codeProtocol, "bind message has %d result formats but query has %d columns", len(m.ResultFormatCodes), len(columns))
	case x.status == 'E' && !p.ends():
		return aborted()
	}
	given := make([]value, len(p.params))
	for i, raw := range m.Parameters {
		oid := uint32(0)
		if i < len(p.oids) {
			oid = p.oids[i]
		}
		v, fail := readParam(p.params[i], oid, formatOf(m.ParameterFormatCodes, i), raw)
		if fail != nil {
			return fail
		}
		given[i] = v
	}
	args := slices.Clone(p.consts)
	for i, a := range p.args {
		if a.param > 0 {
			args[i] = given[a.param-1]
		}
	}
	x.portals[m.DestinationPortal] = &portal{plan: p, named: m.PreparedStatement != "", args: args, formats: slices.Clone(m.ResultFormatCodes)}
	x.send(&pgproto3.BindComplete{})
	return nil
}

func (x *session) describe(m *pgproto3.Describe) *pgproto3.ErrorResponse {
	var columns []column
	var formats []int16
	if m.ObjectType == 'S' {
		p, ok := x.backend.prepared[m.Name]
		if !ok {
			return noStatement(m.Name)
		}
		oids := slices.Clone(p.params)
		for i := range oids {
			if i < len(p.oids) && p.oids[i] != 0 {
				oids[i] = p.oids[i]
			}
		}
		x.send(&pgproto3.ParameterDescription{ParameterOIDs: oids})
		columns = p.columns()
	} else {
		o, ok := x.portals[m.Name]
		if !ok {
			return sqlError(codeNoPortal, "portal %q does not exist", m.Name)
		}
		columns, formats = o.plan.columns(), o.formats
	}
	if columns == nil {
		x.send(&pgproto3.NoData{})
	} else {
		x.send(describe(columns, formats))
	}
	return nil
}

func (x *session) execute(m *pgproto3.Execute) (*pgproto3.ErrorResponse, error) {
	o, ok := x.portals[m.Portal]
	if !ok {
		return sqlError(codeNoPortal, "portal %q does not exist", m.Portal), nil
	}
	return x.fetch(o, int(m.MaxRows))
}

// fetch runs the portal if it didn't yet and sends rows, at most so many unless
// that is 0.
func (x *session) fetch(o *portal, most int) (*pgproto3.ErrorResponse, error) {
	p := o.plan
	switch {
	case x.status == 'E' && !p.ends():
		return aborted(), nil
	case p.command != nil:
		return x.command(o)
	case p.statement == nil:
		x.send(&pgproto3.EmptyQueryResponse{})
		return nil, nil
	}
	if !o.ran {
		o.ran = true
		if fail, err := x.ask(o); fail != nil || err != nil {
			return fail, err
		}
	}
	start, columns := len(x.out), p.statement.columns
	for sent := 0; len(o.rows) > 0; sent++ {
		if most > 0 && sent == most {
			x.server.count(func(u *Use) { u.Rows += sent })
			o.sent = 0
			x.send(&pgproto3.PortalSuspended{})
			return nil, nil
		}
		x.out = appendRow(x.out, columns, o.rows[:len(columns)], o.formats)
		o.rows = o.rows[len(columns):]
		o.sent++
		if o.fault == nil {
			before := len(x.out)
			if err := x.full(); err != nil {
				return nil, err
			}
			if len(x.out) < before {
				start = 0
			}
		}
	}
	x.server.count(func(u *Use) { u.Rows += o.sent })
	x.send(&pgproto3.CommandComplete{CommandTag: fmt.Appendf(nil, "SELECT %d", o.sent)})
	o.sent = 0
	if f := o.fault; f != nil { // short or torn
		x.out = x.out[:start+(len(x.out)-start)/2]
		if err := x.flush(); err != nil {
			return nil, err
		}
		if f.Kind == emu.Short {
			x.silence()
		}
		return nil, errClosed
	}
	return nil, nil
}

// ask runs a portal's statement: its rows are there when its time is over.
func (x *session) ask(o *portal) (*pgproto3.ErrorResponse, error) {
	s, st := x.server, o.plan.statement
	began := s.cfg.Waiter.Now()
	ctx, done := x.statementContext()
	defer done()
	s.count(func(u *Use) { u.Statements++ })

	fault, faulty := s.cfg.Faults.Next("statement")
	if st.op != "" {
		if f, ok := s.cfg.Faults.Next(st.op); ok {
			fault, faulty = f, true
		}
	}
	var slow time.Duration
	if faulty {
		switch fault.Kind {
		case emu.Error:
			return sqlError(codeInjected, "%s", fault.Err()), nil
		case emu.Reset:
			x.reset()
			return nil, errClosed
		case emu.Slow:
			slow = fault.Delay
		default:
			o.fault = &fault
		}
	}

	key := keyOf(st, o.args)
	var a answer
	var fail *pgproto3.ErrorResponse
	if st.search != nil {
		var h hits
		if h, fail = s.answers.find(key, func() (hits, *pgproto3.ErrorResponse) { return st.search(s.cfg.Data, o.args) }); fail == nil {
			a = places(s.cfg.Data, h)
		}
	} else {
		a, fail = st.run(x, o.args)
	}
	if fail != nil {
		return fail, nil
	}
	o.rows = a.rows

	c := &s.cfg.Cost
	work := c.Statement + time.Duration(a.near)*c.Near + time.Duration(a.visited)*c.Visit + time.Duration(len(a.rows)/len(st.columns))*c.Row + a.work
	if a.near > 0 {
		work += c.Order
	}
	if !o.named || o.plan.runs < planned {
		work += c.Plan
	}
	o.plan.runs++
	s.count(func(u *Use) { u.CPU += work })
	wait := slow + a.wait
	if s.holds != nil && st.op != "" {
		wait += s.holds.Next(emu.Key(key))
	}
	err := s.cpu.Use(ctx, work-x.passed(began))
	if err == nil && wait > 0 {
		err = emu.Wait(ctx, s.cfg.Waiter, wait)
	}
	switch {
	case err == nil:
		return nil, nil
	case errors.Is(context.Cause(ctx), errCanceled):
		return sqlError(codeCanceled, "canceling statement due to user request"), nil
	case ctx.Err() != nil:
		return nil, errTerminated
	}
	return nil, err
}

func (x *session) command(o *portal) (*pgproto3.ErrorResponse, error) {
	c := o.plan.command
	x.server.count(func(u *Use) { u.Statements++ })
	tag := c.tag
	switch c.tag {
	case "BEGIN", "START TRANSACTION":
		x.status = 'T'
	case "COMMIT":
		if x.status == 'E' {
			tag = "ROLLBACK"
		}
		x.status = 'I'
	case "ROLLBACK":
		x.status = 'I'
	case "DEALLOCATE":
		if _, there := x.backend.prepared[c.shows]; !there {
			return noStatement(c.shows), nil
		}
		delete(x.backend.prepared, c.shows)
	case "DEALLOCATE ALL", "DISCARD ALL":
		clear(x.backend.prepared)
	case "SHOW":
		v := settings[c.shows]
		if c.shows == "max_connections" {
			v = fmt.Sprint(x.server.cfg.MaxConns)
		}
		x.out = appendRow(x.out, c.columns, []value{{s: v}}, o.formats)
	}
	x.send(&pgproto3.CommandComplete{CommandTag: []byte(tag)})
	return nil, nil
}
