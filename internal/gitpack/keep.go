package gitpack

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Keep reads the ids of objects, one to a line, and writes for each pack in the folder from
// a new pack in the folder to, with the objects on the list and no others. An object that
// several packs have is kept in one of them. If both folders have the same name, a pack
// without other objects stays as it is. Keep removes nothing.
//
// It writes to out a line "pack NAME" for each pack in the folder to that has objects on the
// list, without its folder and its ending, and a line "rest ID" for each object on the list
// that is in no pack. On an error, new packs may be left, and nothing of the list may be
// taken for done.
//
// To choice, unless it is nil, it writes what [KeepChosen] needs to do the same with the
// same packs again.
func Keep(from, to string, list io.Reader, out, choice io.Writer) error {
	packs, err := openAll(from)
	defer closeAll(packs)
	if err != nil {
		return err
	}
	c, err := choose(packs, list)
	if err != nil {
		return err
	}
	if err := c.cut(from, to, out); err != nil || choice == nil {
		return err
	}
	return c.write(choice)
}

// KeepChosen does what [Keep] did when it wrote the choice, and writes the same to out. It
// returns an error, and has written nothing, if the choice is of other packs, or an object of
// it that is in none is missing. Whether the choice is damaged is for the caller to know.
func KeepChosen(from, to string, choice io.Reader, out io.Writer) error {
	packs, err := openAll(from)
	defer closeAll(packs)
	if err != nil {
		return err
	}
	c, err := readChoice(packs, choice)
	if err != nil {
		return err
	}
	if err := c.check(filepath.Dir(from)); err != nil {
		return err
	}
	return c.cut(from, to, out)
}

// chosen is what stays of a store.
type chosen struct {
	packs []*pack
	kept  []keep         // by pack
	rest  [][idSize]byte // the objects that are in no pack
}

// cut writes the new packs, and what there is to say of them.
func (c chosen) cut(from, to string, out io.Writer) error {
	w := bufio.NewWriter(out)
	for _, id := range c.rest {
		if _, err := fmt.Fprintf(w, "rest %x\n", id); err != nil {
			return err
		}
	}
	for i, p := range c.packs {
		n := c.kept[i].count()
		if n == 0 {
			continue
		}
		name := p.name
		if n < p.len() || from != to {
			var err error
			if name, err = cutPack(p, c.kept[i], to); err != nil {
				return &os.PathError{Op: "copying from", Path: p.name + ".pack", Err: err}
			}
		}
		if _, err := w.WriteString("pack " + filepath.Base(name) + "\n"); err != nil {
			return err
		}
	}
	return w.Flush()
}

var errNoID = errors.New("a line of the list is not an id")

// openAll opens the packs in dir. On an error it returns the packs opened so far.
func openAll(dir string) ([]*pack, error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var packs []*pack
	for _, f := range files {
		name, ok := strings.CutSuffix(f.Name(), ".idx")
		if !ok || !strings.HasPrefix(name, "pack-") { // git packs what others have
			continue
		}
		p, err := openPack(filepath.Join(dir, name))
		if err != nil {
			return packs, err
		}
		packs = append(packs, p)
	}
	return packs, nil
}

func closeAll(packs []*pack) {
	for _, p := range packs {
		_ = p.file.Close() // it was only read
	}
}

// choose reads the list of the objects that stay.
func choose(packs []*pack, list io.Reader) (chosen, error) {
	c := chosen{packs: packs, kept: make([]keep, len(packs))}
	for i, p := range packs {
		c.kept[i] = make(keep, p.len())
	}
	lines := bufio.NewScanner(list)
	for lines.Scan() {
		line := lines.Bytes()
		var id [idSize]byte
		if len(line) != hex.EncodedLen(idSize) {
			return c, errNoID
		}
		if _, err := hex.Decode(id[:], line); err != nil {
			return c, errNoID
		}
		if !c.mark(id[:]) {
			c.rest = append(c.rest, id)
		}
	}
	return c, lines.Err()
}

// mark keeps the object in the first pack that has it.
func (c chosen) mark(id []byte) bool {
	for i, p := range c.packs {
		if object, ok := p.find(id); ok {
			c.kept[i][object] = true
			return true
		}
	}
	return false
}
