package wire

import (
	"encoding/binary"
	"errors"
)

// Hello begins a connection.
type Hello struct {
	Version    uint64
	Connection uint64 // higher than any before
	Lease      uint64 // nanoseconds that the init stays without a frame from batch; 0: for ever
	Again      bool   // the container was started again: commands before are not known to this init
}

// Welcome is the answer to a [Hello]. Results that batch has not let the init forget
// follow.
type Welcome struct {
	Version    uint64
	Connection uint64
	Again      bool // as a Hello has said
}

// Run is one command.
type Run struct {
	Args    []string // the interpreter; Script comes behind as its last argument
	Env     []string // over the init's
	Dir     string
	Script  string
	Timeout uint64   // nanoseconds; 0: none
	Limit   uint64   // bytes of output to keep
	Ask     bool     // when the output has more, ask what is to be kept
	Load    bool     // Args are a bash, which may take the script from a pipe
	Ahead   bool     // start the next interpreter of its kind when it has ended
	Forget  []string // ids of commands whose results are not needed any more
}

// More is the answer to an output that has more than its limit.
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
	Missing  bool   // the interpreter is not there, or is not one
	Total    uint64 // bytes of output
	Kept     uint64 // how many of them were sent before this
	Nanos    uint64 // how long it ran
}

// Put writes a file, which has its name when it is whole.
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

// Done ends what has no result.
type Done struct {
	Errno   uint64
	Message string // empty when it went well
}

// Order is what process 1 has a supervisor start. It stays in the container.
type Order struct {
	Args []string // the program, looked up in PATH of Env, and its arguments
	Env  []string
	Dir  string
}

// message is what both directions of the coding have in common.
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

// coder writes values behind one another, or reads them.
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

// rest is all that is left, and stands last.
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
