package gitpack

import (
	"errors"
	"io"
	"os"
)

// Kinds of entries in a pack.
const (
	kindCommit = 1
	kindTree   = 2
	kindBlob   = 3
	kindTag    = 4
	kindOffset = 6 // a delta to the entry at an offset
	kindID     = 7 // a delta to the object with an id
)

// entry is one object's entry in a pack.
type entry struct {
	kind byte
	size uint64 // bytes of the inflated data
	back int64  // kindOffset: how far before this entry its base begins
	base []byte // kindID: the base's id
	data []byte // deflated
}

var errEntry = errors.New("an entry of the pack makes no sense")

// parseEntry parses the bytes of an entry, up to where the next one begins.
func parseEntry(raw []byte) (e entry, err error) {
	next := func() (c byte) {
		if len(raw) == 0 {
			err = errEntry
			return 0
		}
		c, raw = raw[0], raw[1:]
		return c
	}
	c := next()
	e.kind, e.size = c>>4&7, uint64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if shift > 60 {
			return e, errEntry
		}
		c = next()
		e.size |= uint64(c&0x7f) << shift
	}
	switch e.kind {
	case kindCommit, kindTree, kindBlob, kindTag:
	case kindOffset:
		c = next()
		for e.back = int64(c & 0x7f); c&0x80 != 0; {
			if e.back >= 1<<48 {
				return e, errEntry
			}
			c = next()
			e.back = (e.back+1)<<7 | int64(c&0x7f)
		}
	case kindID:
		if len(raw) < idSize {
			return e, errEntry
		}
		e.base, raw = raw[:idSize], raw[idSize:]
	default:
		return e, errEntry
	}
	e.data = raw
	return e, err
}

// appendHead appends the bytes of e that stand before its data.
func (e entry) appendHead(b []byte) []byte {
	c, size := e.kind<<4|byte(e.size&15), e.size>>4
	for ; size > 0; size >>= 7 {
		b = append(b, c|0x80)
		c = byte(size & 0x7f)
	}
	b = append(b, c)
	switch e.kind {
	case kindOffset:
		var far [10]byte
		i, back := len(far)-1, e.back
		far[i] = byte(back & 0x7f)
		for back >>= 7; back > 0; back >>= 7 {
			back--
			i--
			far[i] = 0x80 | byte(back&0x7f)
		}
		b = append(b, far[i:]...)
	case kindID:
		b = append(b, e.base...)
	}
	return b
}

// window reads a file that is read mostly from its beginning to its end.
type window struct {
	file *os.File
	size int64
	held []byte // bytes of the file
	at   int64  // where held begins
}

const windowSize = 1 << 20

// bytes returns those between two offsets. They are valid until the next call.
func (w *window) bytes(from, to int64) ([]byte, error) {
	if from < 0 || to < from || to > w.size {
		return nil, errEntry
	}
	if from < w.at || to > w.at+int64(len(w.held)) {
		n := int(min(max(windowSize, to-from), w.size-from))
		if cap(w.held) < n {
			w.held = make([]byte, n)
		}
		w.held = w.held[:n]
		if _, err := w.file.ReadAt(w.held, from); err != nil && err != io.EOF {
			w.held = nil
			return nil, err
		}
		w.at = from
	}
	return w.held[from-w.at : to-w.at], nil
}
