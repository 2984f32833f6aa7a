package gitpack

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"errors"
	"io"
	"strconv"
)

// object is an object's kind and content.
type object struct {
	kind    byte
	content []byte
}

var kindNames = map[byte]string{kindCommit: "commit", kindTree: "tree", kindBlob: "blob", kindTag: "tag"}

// id returns the object's id, as git computes it.
func (o object) id() []byte {
	h := sha1.New()
	_, _ = io.WriteString(h, kindNames[o.kind]+" "+strconv.Itoa(len(o.content))+"\x00")
	_, _ = h.Write(o.content)
	return h.Sum(nil)
}

// longestChain is how many deltas git allows on the way to an object.
const longestChain = 4096

// inflater restores the contents of objects of a pack. Bases are kept, since several
// objects may share one.
type inflater struct {
	pack  *pack
	held  map[int]object // by position
	size  int            // bytes of held
	zlib  io.ReadCloser  // reused
	limit int            // of size
}

// heldLimit is how many bytes of bases an inflater keeps.
const heldLimit = 64 << 20

// object returns the object at a position of the pack, which has depth deltas on top of it.
func (f *inflater) object(position, depth int) (object, error) {
	if o, ok := f.held[position]; ok {
		return o, nil
	}
	if depth > longestChain {
		return object{}, errors.New("a chain of deltas does not end")
	}
	e, err := f.pack.entry(&f.pack.bases, position)
	if err != nil {
		return object{}, err
	}
	content, err := f.inflate(e)
	if err != nil {
		return object{}, err
	}
	o := object{e.kind, content}
	if base, delta, err := f.pack.base(position, e); err != nil {
		return object{}, err
	} else if delta {
		b, err := f.object(base, depth+1)
		if err != nil {
			return object{}, err
		}
		o.kind = b.kind
		if o.content, err = apply(b.content, content); err != nil {
			return object{}, err
		}
	}
	if f.size += len(o.content); f.size > f.limit || f.held == nil {
		f.held, f.size = map[int]object{}, len(o.content)
	}
	f.held[position] = o
	return o, nil
}

func (f *inflater) inflate(e entry) ([]byte, error) {
	var err error
	if f.zlib == nil {
		f.zlib, err = zlib.NewReader(bytes.NewReader(e.data))
	} else {
		err = f.zlib.(zlib.Resetter).Reset(bytes.NewReader(e.data), nil)
	}
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f.zlib, int64(min(e.size, 1<<40))+1))
	if err != nil {
		return nil, err
	}
	if uint64(len(content)) != e.size {
		return nil, errEntry
	}
	return content, nil
}

var errDelta = errors.New("a delta makes no sense")

// apply returns what a delta makes of base.
func apply(base, delta []byte) ([]byte, error) {
	from, delta, ok := deltaSize(delta)
	if !ok || from != uint64(len(base)) {
		return nil, errDelta
	}
	to, delta, ok := deltaSize(delta)
	if !ok || to > 1<<40 {
		return nil, errDelta
	}
	out := make([]byte, 0, min(to, heldLimit))
	for len(delta) > 0 {
		c := delta[0]
		delta = delta[1:]
		if c&0x80 == 0 { // the next c bytes of the delta
			if c == 0 || int(c) > len(delta) {
				return nil, errDelta
			}
			out, delta = append(out, delta[:c]...), delta[c:]
			continue
		}
		var v [7]byte // offset and length in base, least byte first
		for i := range v {
			if c&(1<<i) == 0 {
				continue
			}
			if len(delta) == 0 {
				return nil, errDelta
			}
			v[i], delta = delta[0], delta[1:]
		}
		at := int(v[0]) | int(v[1])<<8 | int(v[2])<<16 | int(v[3])<<24
		n := int(v[4]) | int(v[5])<<8 | int(v[6])<<16
		if n == 0 {
			n = 0x10000
		}
		if at+n > len(base) || uint64(len(out)+n) > to {
			return nil, errDelta
		}
		out = append(out, base[at:at+n]...)
	}
	if uint64(len(out)) != to {
		return nil, errDelta
	}
	return out, nil
}

// deltaSize reads one of the two sizes at the beginning of a delta.
func deltaSize(delta []byte) (size uint64, rest []byte, ok bool) {
	for shift := 0; len(delta) > 0 && shift < 63; shift += 7 {
		c := delta[0]
		delta = delta[1:]
		size |= uint64(c&0x7f) << shift
		if c&0x80 == 0 {
			return size, delta, true
		}
	}
	return 0, nil, false
}
