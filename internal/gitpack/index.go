package gitpack

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"os"
	"slices"
)

const (
	idSize     = sha1.Size
	indexStart = 8 + fanout*4 // of the ids
	fanout     = 256
	farOffset  = 1 << 31 // marks a place in the table of offsets beyond 2 GiB
)

var indexMagic = []byte("\xfftOc\x00\x00\x00\x02")

// index is the index of a pack. Its objects are numbered in the order of their ids.
type index struct {
	ids, sums, near, far []byte
	pack                 []byte            // checksum at the end of the pack
	firsts               [1<<16 + 1]uint32 // by two bytes: the first object whose id begins with these or later ones
	places               []uint64          // offsets of all entries, ascending, each with its object's number: see place
}

// place combines an entry's offset with its object's number, so that places sort by offset.
func place(offset int64, object int) uint64 { return uint64(offset)<<objectBits | uint64(object) }

func offsetOf(place uint64) int64 { return int64(place >> objectBits) }
func objectOf(place uint64) int   { return int(place & (1<<objectBits - 1)) }

// objectBits is enough for 16 million objects, and leaves room for a pack of a terabyte.
const objectBits = 24

func readIndex(name string) (*index, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(data)
	if err != nil {
		return nil, &os.PathError{Op: "reading", Path: name, Err: err}
	}
	return x, nil
}

func parseIndex(data []byte) (*index, error) {
	if len(data) < indexStart+2*idSize || !bytes.HasPrefix(data, indexMagic) {
		return nil, errors.New("not an index of version 2")
	}
	x := &index{}
	n, rest := int(binary.BigEndian.Uint32(data[indexStart-4:])), data[indexStart:len(data)-2*idSize]
	if n >= 1<<objectBits || len(rest) < n*(idSize+8) || (len(rest)-n*(idSize+8))%8 != 0 {
		return nil, errors.New("its size does not fit its number of objects with SHA-1 ids")
	}
	x.pack = data[len(data)-2*idSize : len(data)-idSize]
	x.ids, rest = rest[:n*idSize], rest[n*idSize:]
	x.sums, rest = rest[:n*4], rest[n*4:]
	x.near, x.far = rest[:n*4], rest[n*4:]
	x.places = make([]uint64, n)
	for i := range n {
		x.firsts[int(binary.BigEndian.Uint16(x.id(i)))+1]++
		offset, err := x.offset(i)
		if err != nil {
			return nil, err
		}
		x.places[i] = place(offset, i)
	}
	for i := range 1 << 16 {
		x.firsts[i+1] += x.firsts[i]
	}
	slices.Sort(x.places)
	return x, nil
}

func (x *index) offset(object int) (int64, error) {
	v := binary.BigEndian.Uint32(x.near[object*4:])
	if v < farOffset {
		return int64(v), nil
	}
	at := int(v-farOffset) * 8
	if at+8 > len(x.far) {
		return 0, errors.New("an offset is missing")
	}
	far := binary.BigEndian.Uint64(x.far[at:])
	if far >= 1<<(64-objectBits) {
		return 0, errors.New("an offset is too large")
	}
	return int64(far), nil
}

func (x *index) len() int             { return len(x.places) }
func (x *index) id(object int) []byte { return x.ids[object*idSize:][:idSize] }
func (x *index) sum(object int) uint32 {
	return binary.BigEndian.Uint32(x.sums[object*4:])
}

// find returns the number of the object with that id.
func (x *index) find(id []byte) (object int, ok bool) {
	begin := binary.BigEndian.Uint16(id)
	low, high := int(x.firsts[begin]), int(x.firsts[int(begin)+1])
	for low < high {
		mid := (low + high) / 2
		switch bytes.Compare(x.id(mid), id) {
		case 0:
			return mid, true
		case -1:
			low = mid + 1
		default:
			high = mid
		}
	}
	return 0, false
}

// at returns the position among places of the entry that begins at offset.
func (x *index) at(offset int64) (position int, ok bool) {
	p, _ := slices.BinarySearch(x.places, place(offset, 0))
	return p, p < len(x.places) && offsetOf(x.places[p]) == offset
}
