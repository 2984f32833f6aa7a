package wire

import (
	"encoding/binary"
	"errors"
)

// Hello begins a connection.
type Hello struct {
	Version    uint64
	Connection uint64 // higher than any before
	Lease      uint64 // nanoseconds that the init runs without a frame from batch; 0: forever
	Again      bool   // the container was started again: this init does not know earlier commands
}

// Welcome is the answer to a [Hello]. Results that batch has not yet allowed the init to
// drop follow.
type Welcome struct {
	Version    uint64
	Connection uint64
	Again      bool // from the Hello
}

// Run is one command, or a program, whose stdin and stdout batch has.
type Run struct {
	Args    []string // the interpreter; Script is its last argument
	Env     []string // overrides the init's
	Dir     string
	Script  string
	Timeout uint64   // nanoseconds; 0: none
	Limit   uint64   // bytes of output to keep
	Ask     bool     // when the output is longer, ask how much to keep
	Load    bool     // Args are a bash, which may take the script from a pipe
	Ahead   bool     // start the next interpreter of its kind when it has ended
	Forget  []string // ids of commands whose results are not needed any more
	Name    string   // of a program, which ends an earlier one with that name; empty for a command
	Silence uint64   // nanoseconds without a frame from batch that end a program
}

// More is the answer to an output that is longer than its limit.
type More struct {
	Limit uint64
}

// Result is how a command ended.
type Result struct {
	Code     uint64
	TimedOut bool
	OOM      bool   // a process of the container was killed for memory meanwhile
	Cleared  bool   // all processes had to be ended to make room for it
	Alive    bool   // some of its processes could not be killed
	Missing  bool   // the interpreter does not exist or cannot be executed
	Total    uint64 // bytes of output
	Kept     uint64 // how many of them were sent before this
	Nanos    uint64 // how long it ran
}

// Put writes a file. The file gets its name when it is complete.
type Put struct {
	Path string
	Mode uint64
	Data []byte
}

// Get asks for a file of at most Limit bytes.
type Get struct {
	Path  string
	Limit uint64
}

// Done is the answer to a request that has no other result.
type Done struct {
	Errno   uint64
	Message string // empty when it went well
}

// Order is a program that a supervisor starts for process 1. It is sent only within the container.
type Order struct {
	Args []string // the program, looked up in PATH of Env, and its arguments
	Env  []string
	Dir  string
}

// message is a value that a coder can write and read.
type message interface{ code(*coder) }

// Encode returns the message as a frame's data.
func Encode[T any, P interface {
	*T
	message
}](m T,
) []byte {
	var c coder
	P(&m).code(&c)
	return c.b
}

// Decode reads what Encode returned. The Data of a Put is a part of b.
func Decode(b []byte, m message) error {
	c := coder{b: b, reads: true}
	m.code(&c)
	return c.err
}

// coder writes values one after another, or reads them.
type coder struct {
	b     []byte
	reads bool
	err   error
}

var errMessage = errors.New("a message that is not whole")

func (c *coder) number(v *uint64) {
	if !c.reads {
		c.b = binary.AppendUvarint(c.b, *v)
		return
	}
	n, size := binary.Uvarint(c.b)
	if size <= 0 {
		c.b, c.err = nil, errMessage
		return
	}
	*v, c.b = n, c.b[size:]
}

func (c *coder) text(v *string) {
	n := uint64(len(*v))
	c.number(&n)
	switch {
	case !c.reads:
		c.b = append(c.b, *v...)
	case n > uint64(len(c.b)):
		c.b, c.err = nil, errMessage
	default:
		*v, c.b = string(c.b[:n]), c.b[n:]
	}
}

func (c *coder) texts(v *[]string) {
	n := uint64(len(*v))
	c.number(&n)
	for i := uint64(0); i < n && c.err == nil; i++ {
		if c.reads {
			*v = append(*v, "")
		}
		c.text(&(*v)[i])
	}
}

func (c *coder) flags(flags ...*bool) {
	var n uint64
	for i, f := range flags {
		if *f {
			n |= 1 << i
		}
	}
	c.number(&n)
	for i, f := range flags {
		*f = n&(1<<i) != 0
	}
}

// rest codes all remaining bytes; it must come last.
func (c *coder) rest(v *[]byte) {
	if c.reads {
		*v, c.b = c.b, nil
		return
	}
	c.b = append(c.b, *v...)
}

func (m *Hello) code(c *coder) {
	c.number(&m.Version)
	c.number(&m.Connection)
	c.number(&m.Lease)
	c.flags(&m.Again)
}

func (m *Welcome) code(c *coder) {
	c.number(&m.Version)
	c.number(&m.Connection)
	c.flags(&m.Again)
}

func (m *Run) code(c *coder) {
	c.texts(&m.Args)
	c.texts(&m.Env)
	c.text(&m.Dir)
	c.text(&m.Script)
	c.number(&m.Timeout)
	c.number(&m.Limit)
	c.flags(&m.Ask, &m.Load, &m.Ahead)
	c.texts(&m.Forget)
	c.text(&m.Name)
	c.number(&m.Silence)
}

func (m *More) code(c *coder) { c.number(&m.Limit) }

func (m *Result) code(c *coder) {
	c.number(&m.Code)
	c.flags(&m.TimedOut, &m.OOM, &m.Cleared, &m.Alive, &m.Missing)
	c.number(&m.Total)
	c.number(&m.Kept)
	c.number(&m.Nanos)
}

func (m *Put) code(c *coder) {
	c.text(&m.Path)
	c.number(&m.Mode)
	c.rest(&m.Data)
}

func (m *Get) code(c *coder) {
	c.text(&m.Path)
	c.number(&m.Limit)
}

func (m *Done) code(c *coder) {
	c.number(&m.Errno)
	c.text(&m.Message)
}

func (m *Order) code(c *coder) {
	c.texts(&m.Args)
	c.texts(&m.Env)
	c.text(&m.Dir)
}
