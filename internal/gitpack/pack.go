package gitpack

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"os"
)

const packHead = 12

// pack is a pack that is read.
type pack struct {
	*index
	name   string // path without its ending
	file   *os.File
	size   int64
	copied window // what is copied
	bases  window // what deltas are made to
}

// openPack opens the pack with that path, without its ending. The caller must close its file.
func openPack(name string) (*pack, error) {
	x, err := readIndex(name + ".idx")
	if err != nil {
		return nil, err
	}
	file, err := os.Open(name + ".pack")
	if err != nil {
		return nil, err
	}
	p := &pack{index: x, name: name, file: file}
	if err := p.check(); err != nil {
		_ = file.Close() // it was only read
		return nil, &os.PathError{Op: "reading", Path: name + ".pack", Err: err}
	}
	p.copied = window{file: file, size: p.size - idSize}
	p.bases = p.copied
	return p, nil
}

// check compares the pack with its index.
func (p *pack) check() error {
	info, err := p.file.Stat()
	if err != nil {
		return err
	}
	if p.size = info.Size(); p.size < packHead+idSize {
		return errors.New("too short for a pack")
	}
	var head [packHead]byte
	if _, err := p.file.ReadAt(head[:], 0); err != nil {
		return err
	}
	var sum [idSize]byte
	if _, err := p.file.ReadAt(sum[:], p.size-idSize); err != nil {
		return err
	}
	version := binary.BigEndian.Uint32(head[4:])
	switch {
	case string(head[:4]) != "PACK" || version != 2 && version != 3:
		return errors.New("not a pack of version 2 or 3")
	case int(binary.BigEndian.Uint32(head[8:])) != p.len() || !bytes.Equal(sum[:], p.index.pack):
		return errors.New("its index is that of another pack")
	}
	return nil
}

// raw returns the bytes of the entry at a position, valid until w is used again.
func (p *pack) raw(w *window, position int) ([]byte, error) {
	end := p.size - idSize
	if position+1 < len(p.places) {
		end = offsetOf(p.places[position+1])
	}
	return w.bytes(offsetOf(p.places[position]), end)
}

func (p *pack) entry(w *window, position int) (entry, error) {
	raw, err := p.raw(w, position)
	if err != nil {
		return entry{}, err
	}
	return parseEntry(raw)
}

// checked returns the entry at a position after comparing it with its checksum.
func (p *pack) checked(position int) (entry, error) {
	raw, err := p.raw(&p.copied, position)
	if err != nil {
		return entry{}, err
	}
	if object := objectOf(p.places[position]); crc32.ChecksumIEEE(raw) != p.sum(object) {
		return entry{}, damaged(p.id(object))
	}
	return parseEntry(raw)
}

// base returns the position of the base of e, the entry at a position, if e is a delta.
func (p *pack) base(position int, e entry) (base int, delta bool, err error) {
	ok := true
	switch e.kind {
	case kindOffset:
		base, ok = p.at(offsetOf(p.places[position]) - e.back)
		ok = ok && base < position
	case kindID:
		var object int
		var offset int64
		if object, ok = p.find(e.base); ok {
			if offset, err = p.offset(object); err == nil {
				base, ok = p.at(offset)
			}
		}
	default:
		return 0, false, nil
	}
	if !ok {
		err = errors.New("the base of a delta is missing")
	}
	return base, true, err
}

func damaged(id []byte) error { return errors.New("object " + hex.EncodeToString(id) + " is damaged") }
