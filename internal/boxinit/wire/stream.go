package wire

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"io"
	"sync"
)

const (
	macSize  = 16
	markSize = 16
	headSize = 4

	// MaxFrame is the size of the largest frame, in bytes.
	MaxFrame = 64 << 20
	// Chunk is how much of an output one frame has, in bytes.
	Chunk = 128 << 10
)

// ErrForged is the error of a Reader for bytes that the other side did not write as a
// frame at that place. The Reader then skips all bytes up to the next mark.
var ErrForged = errors.New("what came over the stream is not a frame of the other side's")

// Side is one end of the stream.
type Side byte

// The two sides.
const (
	Runner Side = 'r'
	Init   Side = 'i'
)

// Frame is one frame.
type Frame struct {
	Kind Kind
	ID   string // at most 255 bytes
	Data []byte
}

// Key is the secret of one container.
type Key [KeySize]byte

func (k Key) derive(parts ...[]byte) []byte {
	h := hmac.New(sha256.New, k[:])
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

func (k Key) mark() []byte { return k.derive([]byte("mark"))[:markSize] }

// seal returns the MACs of one direction of one connection; number 0 is for the
// Hello and Welcome that begin it.
func (k Key) seal(from Side, connection uint64) *seal {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], connection)
	return &seal{hash: hmac.New(sha256.New, k.derive([]byte("connection"), number[:], []byte{byte(from)}))}
}

type seal struct {
	hash hash.Hash
	next uint64 // number of the next frame
}

func (s *seal) mac(frame []byte) []byte {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], s.next)
	s.hash.Reset()
	s.hash.Write(number[:])
	s.hash.Write(frame)
	return s.hash.Sum(nil)[:macSize]
}

// Writer writes frames. It is safe for concurrent use.
type Writer struct {
	mu         sync.Mutex
	w          io.Writer
	key        Key
	side       Side
	connection uint64
	seal       *seal
}

// NewWriter returns a Writer of the side's frames to w. Nothing can be written
// before [Writer.Begin].
func NewWriter(w io.Writer, key Key, side Side) *Writer {
	return &Writer{w: w, key: key, side: side}
}

// Begin starts the connection of that number with the mark and its first frame.
func (w *Writer) Begin(connection uint64, first Frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seal = w.key.seal(w.side, 0)
	err := w.write(w.key.mark(), first)
	w.connection, w.seal = connection, w.key.seal(w.side, connection)
	return err
}

// Write writes one frame of the connection with that number. If another connection has
// begun, it writes nothing: the other side then asks again.
func (w *Writer) Write(connection uint64, f Frame) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.connection != connection || w.seal == nil {
		return nil
	}
	return w.write(nil, f)
}

func (w *Writer) write(before []byte, f Frame) error {
	size := 2 + len(f.ID) + len(f.Data) + macSize
	if len(f.ID) > 255 || size > MaxFrame {
		return errors.New("a frame that is too large")
	}
	b := make([]byte, 0, len(before)+headSize+size)
	b = append(b, before...)
	b = binary.BigEndian.AppendUint32(b, uint32(size))
	b = append(b, byte(f.Kind), byte(len(f.ID)))
	b = append(b, f.ID...)
	b = append(b, f.Data...)
	b = append(b, w.seal.mac(b[len(before)+headSize:])...)
	w.seal.next++
	_, err := w.w.Write(b)
	return err
}

// Reader reads the other side's frames. It is for one goroutine.
type Reader struct {
	r       io.Reader
	key     Key
	from    Side
	mark    []byte
	seal    *seal
	memory  []byte // that buf is a part of
	buf     []byte // received and not yet returned
	scanned int    // how much of it has no mark in it
	skip    bool   // skip everything up to the next mark
}

// NewReader returns a Reader of what the side from writes, which begins at the next mark.
func NewReader(r io.Reader, key Key, from Side) *Reader {
	return &Reader{r: r, key: key, from: from, mark: key.mark(), skip: true}
}

// Begin makes the Reader expect frames of the connection with that number.
// Call it when Next has returned the frame that begins the connection.
func (r *Reader) Begin(connection uint64) { r.seal = r.key.seal(r.from, connection) }

// Next returns the next frame, whose data is valid until the next call. Began means
// that the frame follows a mark, under the container's key. The error is
// [ErrForged], after which Next continues at the next mark, or the stream's error.
func (r *Reader) Next() (f Frame, began bool, err error) {
	for {
		if at := bytes.Index(r.buf[r.scanned:], r.mark); at >= 0 {
			r.buf = r.buf[r.scanned+at+markSize:]
			r.scanned, r.skip, began = 0, false, true
			r.seal = r.key.seal(r.from, 0)
			continue
		}
		r.scanned = max(0, len(r.buf)-markSize+1)
		if r.skip {
			r.buf = r.buf[r.scanned:]
			r.scanned = 0
		} else if f, whole, err := r.take(); whole || err != nil {
			return f, began, err
		}
		if err := r.fill(); err != nil {
			return Frame{}, false, err
		}
	}
}

// take returns the frame at the beginning of buf, if it is complete.
func (r *Reader) take() (f Frame, whole bool, err error) {
	if len(r.buf) < headSize {
		return f, false, nil
	}
	size := int(binary.BigEndian.Uint32(r.buf))
	if size < 2+macSize || size > MaxFrame {
		return f, false, r.forged()
	}
	if len(r.buf) < headSize+size {
		return f, false, nil
	}
	b := r.buf[headSize : headSize+size]
	body, mac := b[:size-macSize], b[size-macSize:]
	id := 2 + int(body[1])
	if !hmac.Equal(mac, r.seal.mac(body)) || id > len(body) {
		return f, false, r.forged()
	}
	r.seal.next++
	r.buf = r.buf[headSize+size:]
	r.scanned = max(0, r.scanned-headSize-size)
	return Frame{Kind: Kind(body[0]), ID: string(body[2:id]), Data: body[id:]}, true, nil
}

func (r *Reader) forged() error {
	r.skip = true
	return ErrForged
}

// room is how many bytes a Reader has memory for while it waits for the next frame.
const room = 4 << 10

// fill reads more, in place of the frames that were returned. The memory grows with what has
// arrived of a frame, and goes when nothing is left to read: a Reader waits most of the time.
func (r *Reader) fill() error {
	if cap(r.buf)-len(r.buf) < room/2 || len(r.buf) == 0 && cap(r.memory) > room {
		size := len(r.buf) + room
		if len(r.buf) >= headSize && !r.skip {
			size += min(int(binary.BigEndian.Uint32(r.buf)), MaxFrame, 4*len(r.buf))
		}
		if cap(r.memory) < size || len(r.buf) == 0 && cap(r.memory) > room {
			r.memory = make([]byte, 0, size)
		}
		r.buf = append(r.memory, r.buf...)
	}
	n, err := r.r.Read(r.buf[len(r.buf):cap(r.buf)])
	r.buf = r.buf[:len(r.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}
