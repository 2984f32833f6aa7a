package gitpack

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
)

// choiceMagic begins a choice. What follows, all numbers big-endian: the number of packs (4
// bytes); for each pack its checksum (20 bytes), its number of objects (4 bytes), and one bit
// per object in the order of the ids, 1 if it stays, the first one the lowest bit of a byte;
// the ids of the objects that stay and are in no pack.
const choiceMagic = "batch objects 1\n"

var errChoice = errors.New("this is not a choice of objects from these packs")

func (c chosen) write(w io.Writer) error {
	b := binary.BigEndian.AppendUint32([]byte(choiceMagic), uint32(len(c.packs)))
	for i, p := range c.packs {
		b = binary.BigEndian.AppendUint32(append(b, p.index.pack...), uint32(p.len()))
		bits := make([]byte, (p.len()+7)/8)
		for object, stays := range c.kept[i] {
			if stays {
				bits[object/8] |= 1 << (object % 8)
			}
		}
		b = append(b, bits...)
	}
	for _, id := range c.rest {
		b = append(b, id[:]...)
	}
	_, err := w.Write(b)
	return err
}

func readChoice(packs []*pack, r io.Reader) (chosen, error) {
	c := chosen{packs: packs, kept: make([]keep, len(packs))}
	b, err := io.ReadAll(bufio.NewReader(r))
	if err != nil {
		return c, err
	}
	ok := true
	next := func(n int) []byte {
		if !ok || len(b) < n {
			ok = false
			return make([]byte, n)
		}
		part := b[:n]
		b = b[n:]
		return part
	}
	if string(next(len(choiceMagic))) != choiceMagic || int(binary.BigEndian.Uint32(next(4))) != len(packs) {
		return c, errChoice
	}
	for i, p := range packs {
		if !bytes.Equal(next(idSize), p.index.pack) || int(binary.BigEndian.Uint32(next(4))) != p.len() {
			return c, errChoice
		}
		c.kept[i] = make(keep, p.len())
		bits := next((p.len() + 7) / 8)
		for object := range c.kept[i] {
			c.kept[i][object] = bits[object/8]>>(object%8)&1 == 1
		}
	}
	if !ok || len(b)%idSize != 0 {
		return c, errChoice
	}
	for len(b) > 0 {
		c.rest = append(c.rest, [idSize]byte(next(idSize)))
	}
	return c, nil
}

// check looks for the objects that are in no pack of the store.
func (c chosen) check(store string) error {
	for _, id := range c.rest {
		name := hex.EncodeToString(id[:])
		if _, err := os.Stat(filepath.Join(store, name[:2], name[2:])); err != nil {
			return err
		}
	}
	return nil
}
