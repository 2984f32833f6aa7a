package main

import (
	"os"
	"testing"
)

// A process that was listed before its parent ended has other ancestors now.
func TestAProcessThatHasLostItsParentIsNobodysForSure(t *testing.T) {
	me := os.Getpid()
	const top, parent, child, stranger, never = 1 << 29, 1<<29 + 1, 1<<29 + 2, 1<<29 + 3, 1<<29 + 4 // no process has such ids
	f := &family{}
	all := map[int]procStat{me: {}, top: {parent: me}, parent: {parent: top}, child: {parent: parent}}
	if found, sure := f.below(all, top, false); len(found) != 2 || !sure {
		t.Errorf("found %v, sure %v; want two", found, sure)
	}
	delete(all, parent)
	if found, sure := f.below(all, top, false); len(found) != 0 || sure {
		t.Errorf("without its parent: found %v, sure %v", found, sure)
	}
	delete(all, child)
	all[stranger] = procStat{parent: os.Getppid()} // which lives, and may be hidden
	if found, sure := f.below(all, top, false); len(found) != 0 || !sure {
		t.Errorf("a process of others: found %v, sure %v", found, sure)
	}
	all[never] = procStat{parent: never, dead: true}
	if _, sure := f.below(all, top, false); !sure {
		t.Error("a dead process makes it unsure")
	}
}
