package gitpack

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// keep says which of a pack's objects stay, by their number.
type keep []bool

func (k keep) count() (n int) {
	for _, kept := range k {
		if kept {
			n++
		}
	}
	return n
}

// cut is a pack that is written: what k keeps of another one.
type cut struct {
	*pack
	k       keep
	offsets []int64  // of the new entries, by the object's number; 0: not written yet
	sums    []uint32 // checksums
	from    inflater

	out     *bufio.Writer
	at      int64
	deflate *zlib.Writer
	whole   bytes.Buffer // an object that is deflated again
	head    []byte
}

// cutPack writes what k keeps of p into dir, and returns the path without its ending.
func cutPack(p *pack, k keep, dir string) (name string, err error) {
	c := &cut{pack: p, k: k, offsets: make([]int64, p.len()), sums: make([]uint32, p.len())}
	c.from = inflater{pack: p, limit: heldLimit}
	unfinished, sum, err := writeFile(dir, c.writePack)
	if err != nil {
		return "", err
	}
	indexFile, _, err := writeFile(dir, func(w *bufio.Writer) error { return c.writeIndex(w, sum) })
	if err != nil {
		return "", errors.Join(err, os.Remove(unfinished))
	}
	name = filepath.Join(dir, "pack-"+hex.EncodeToString(sum))
	return name, errors.Join(os.Rename(unfinished, name+".pack"), os.Rename(indexFile, name+".idx"))
}

// writeFile writes a file that ends with the checksum of its content. On an error there is
// no file.
func writeFile(dir string, content func(*bufio.Writer) error) (name string, sum []byte, err error) {
	file, err := os.CreateTemp(dir, "tmp_cut_")
	if err != nil {
		return "", nil, err
	}
	h := sha1.New()
	if err = summed(file, h, content); err == nil {
		sum = h.Sum(nil)
		_, err = file.Write(sum)
	}
	err = errors.Join(err, file.Chmod(0o444), file.Close())
	if err != nil {
		return "", nil, errors.Join(err, os.Remove(file.Name()))
	}
	return file.Name(), sum, nil
}

func summed(file *os.File, h hash.Hash, content func(*bufio.Writer) error) error {
	w := bufio.NewWriterSize(io.MultiWriter(file, h), 1<<20)
	if err := content(w); err != nil {
		return err
	}
	return w.Flush()
}

func (c *cut) writePack(w *bufio.Writer) error {
	c.out = w
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(c.k.count()))
	if _, err := w.Write(head); err != nil {
		return err
	}
	c.at = int64(len(head))
	for position, place := range c.places {
		if !c.k[objectOf(place)] {
			continue
		}
		if err := c.copy(position); err != nil {
			return err
		}
	}
	return nil
}

// copy copies the entry at a position. A delta to an object that goes is replaced with the
// whole object.
func (c *cut) copy(position int) error {
	e, err := c.checked(position)
	if err != nil {
		return err
	}
	object := objectOf(c.places[position])
	base, delta, err := c.base(position, e)
	if err != nil {
		return err
	}
	if delta {
		on := objectOf(c.places[base])
		switch {
		case !c.k[on]:
			if e, err = c.replace(position); err != nil {
				return err
			}
		case e.kind == kindOffset:
			e.back = c.at - c.offsets[on]
		}
	}
	c.offsets[object] = c.at
	c.head = e.appendHead(c.head[:0])
	c.sums[object] = crc32.Update(crc32.ChecksumIEEE(c.head), crc32.IEEETable, e.data)
	c.at += int64(len(c.head) + len(e.data))
	_, err = c.out.Write(c.head)
	if err == nil {
		_, err = c.out.Write(e.data)
	}
	return err
}

// replace returns an entry with the whole object at a position, valid until the next call.
func (c *cut) replace(position int) (entry, error) {
	o, err := c.from.object(position, 0)
	if err != nil {
		return entry{}, err
	}
	if id := c.id(objectOf(c.places[position])); !bytes.Equal(o.id(), id) {
		return entry{}, damaged(id)
	}
	c.whole.Reset()
	if c.deflate == nil {
		if c.deflate, err = zlib.NewWriterLevel(&c.whole, zlib.BestSpeed); err != nil {
			return entry{}, err
		}
	}
	c.deflate.Reset(&c.whole)
	if _, err = c.deflate.Write(o.content); err == nil {
		err = c.deflate.Close()
	}
	return entry{kind: o.kind, size: uint64(len(o.content)), data: c.whole.Bytes()}, err
}

// writeIndex writes the index of the pack that was written, which has that checksum.
func (c *cut) writeIndex(w *bufio.Writer, sum []byte) error {
	var counts [fanout]uint32
	var ids, sums, near, far []byte
	for object, kept := range c.k {
		if !kept {
			continue
		}
		id, offset := c.id(object), c.offsets[object]
		counts[id[0]]++
		ids = append(ids, id...)
		sums = binary.BigEndian.AppendUint32(sums, c.sums[object])
		if offset >= farOffset {
			far = binary.BigEndian.AppendUint64(far, uint64(offset))
			offset = farOffset | int64(len(far)/8-1)
		}
		near = binary.BigEndian.AppendUint32(near, uint32(offset))
	}
	head, total := slices.Clone(indexMagic), uint32(0)
	for _, n := range counts {
		total += n
		head = binary.BigEndian.AppendUint32(head, total)
	}
	for _, part := range [][]byte{head, ids, sums, near, far, sum} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
