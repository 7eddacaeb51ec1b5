package fake

import (
	"errors"
	"fmt"

	"latlab.example/common/emu"
)

// Keys that a server has if its Config names none.
const (
	DefaultAccessKey = "latlab"
	DefaultSecretKey = "latlab-secret"
	DefaultRegion    = "us-east-1"
	DefaultDomain    = "localhost"
)

// Config shapes a server. The zero Config answers at once, with the default keys
// and without buckets.
type Config struct {
	AccessKey, SecretKey string // the defaults if empty
	Region               string // DefaultRegion if empty
	// Domain is the host name under which a bucket is a sub-domain, for
	// virtual-host addressing: bucket.localhost. Any other host is path-style.
	Domain  string   // DefaultDomain if empty
	Buckets []string // there from the start

	Profile Profile
	Waiter  emu.Waiter // passes the profile's time; needed if there is any, or if there are faults
	Seed    uint64     // of latencies

	// Faults are for the operations put, get, head, list, delete, create, part,
	// complete and abort. Their kinds mean:
	//
	//	error   503 SlowDown, and nothing is done
	//	reset   the connection breaks: in a get at byte FaultAt, else before anything is done
	//	short   in a get, the body ends at byte FaultAt of those that the header promised; else as reset
	//	torn    in a get, a body without a length, which ends at byte FaultAt as if it were whole;
	//	        else it is done, and the connection breaks instead of an answer
	//	slow    the first byte comes later
	//
	// Three more are for gets that succeed, and any kind triggers them: flip turns
	// a bit at byte FaultAt, nolength sends the whole body without a length; and
	// replace, for heads as well, replaces the object once it is answered.
	Faults  *emu.Schedule
	FaultAt int64 // half of the body if zero
}

// ErrConfig occurs when a Config can't be; it comes wrapped with why.
var ErrConfig = errors.New("not an S3 server")

var operations = []string{
	opPut, opGet, opHead, opList, opDelete, opCreate, opPart, opComplete, opAbort, faultFlip, faultNoLength, faultReplace,
}

const (
	opPut      = "put"
	opGet      = "get"
	opHead     = "head"
	opList     = "list"
	opDelete   = "delete"
	opCreate   = "create"
	opPart     = "part"
	opComplete = "complete"
	opAbort    = "abort"
	opBucket   = "bucket" // has no faults

	faultFlip     = "flip"
	faultNoLength = "nolength"
	faultReplace  = "replace"
)

func (c *Config) fill() error {
	for p, def := range map[*string]string{
		&c.AccessKey: DefaultAccessKey, &c.SecretKey: DefaultSecretKey, &c.Region: DefaultRegion, &c.Domain: DefaultDomain,
	} {
		if *p == "" {
			*p = def
		}
	}
	p := c.Profile
	switch {
	case p.Connect < 0 || p.PerConnection < 0 || p.Total < 0 || c.FaultAt < 0:
		return fmt.Errorf("fake: %w: times, bandwidths and FaultAt can't be negative", ErrConfig)
	case c.Waiter == nil && (p.waits() || c.Faults != nil):
		return fmt.Errorf("fake: %w: a profile that takes time, and faults, need a waiter: emu.Spin", ErrConfig)
	}
	for _, b := range c.Buckets {
		if !validBucket(b) {
			return fmt.Errorf("fake: %w: bucket name %q; take 3 to 63 of a-z, 0-9, dot and hyphen", ErrConfig, b)
		}
	}
	if err := c.Faults.Check(operations...); err != nil {
		return fmt.Errorf("fake: %w", err)
	}
	return nil
}

func validBucket(name string) bool {
	if len(name) < 3 || len(name) > 63 {
		return false
	}
	for i, c := range []byte(name) {
		edge := i == 0 || i == len(name)-1
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', !edge && (c == '-' || c == '.'):
		default:
			return false
		}
	}
	return true
}
