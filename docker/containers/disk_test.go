package containers

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDiskUseCountsEachFileOnceByItsBlocks(t *testing.T) {
	dir := t.TempDir()
	data := make([]byte, 1<<20)
	for i := range data {
		data[i] = byte(i)
	}
	for _, name := range []string{"a", "b"} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(dir, "a"), filepath.Join(dir, "again")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/usr", filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	sparse, err := os.Create(filepath.Join(dir, "sparse"))
	if err == nil {
		err = sparse.Truncate(1 << 30)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = sparse.Close()
	n, files, err := fileSizes(t.Context(), os.DirFS(dir))
	if err != nil || n < 2<<20 || n > 2<<20+64<<10 || files != 5 { // with the directory and the link
		t.Errorf("%d bytes in %d files, want two of 1 MiB in 5; %v", n, files, err)
	}
}

// A command that is killed may still write until it ends.
func TestWhatIsWrittenUntilTheKillIsNoGrowth(t *testing.T) {
	d := &disk{limit: 100}
	d.note(101)
	d.killedAt(102 + diskSlack)
	if d.note(102+2*diskSlack) || d.spent {
		t.Error("a second kill for data written before the first")
	}
	if !d.note(103 + 2*diskSlack) {
		t.Error("more growth above the limit was not killed")
	}
	d.killed = false // the kill was reported, and the next command writes
	d.killedAt(200 + 2*diskSlack)
	if d.ceiling != 103+3*diskSlack {
		t.Errorf("the next command may write up to %d bytes", d.ceiling)
	}
}

// Measurements of a container with a limit of 100, and the commands between them.
func TestWhenADiskLimitKills(t *testing.T) {
	const slack = diskSlack
	for name, looks := range map[string][]struct {
		used int64
		kill bool
	}{
		"below":               {{100, false}, {0, false}},
		"above and back":      {{101, true}, {101 + slack, false}, {100, false}, {101, true}},
		"growing on":          {{101, true}, {102 + slack, true}, {102 + slack, false}, {103 + 2*slack, true}},
		"above for some time": {{200, true}, {150, false}, {200, false}, {200, false}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &disk{limit: 100}
			for i, l := range looks {
				if kill := d.note(l.used); kill != l.kill {
					t.Errorf("look %d, %d bytes: kill %v; want kill %v", i+1, l.used, kill, l.kill)
				}
			}
			if d.spent != (name == "growing on") {
				t.Errorf("the next command is refused: %v, want the opposite", d.spent)
			}
		})
	}
}
