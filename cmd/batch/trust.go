package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox"
)

// trusted refuses a directory whose request names what this command line does not (see
// [run.Setup.Named]), until the user agrees. What a user agreed to, or gave to batch run or batch
// sweep, is kept in the folder of batch's state, as a digest of the names.
func (a *app) trusted(f *runFlags, dir string, named []string) error {
	slices.Sort(named)
	if named = slices.Compact(named); len(named) == 0 || f.dryRun {
		return nil
	}
	sum := sha256.Sum256([]byte(strings.Join(named, "\n")))
	state := sandbox.StateDir(a.getenv, a.home)
	kept := filepath.Join(state, "trusted", hex.EncodeToString(sum[:]))
	if _, err := os.Stat(kept); state != "" && err == nil {
		return nil
	}
	names := a.mask.Text(strings.Join(named, "\n  "))
	if f.Settled && !f.trust && !a.agrees(dir+" names:\n  "+names+"\nIt can do with these what a Makefile of its author could. Continue? [y/N] ") {
		return fault.Newf(fault.Usage, "%s names what this command line does not:\n  %s", dir, names).
			WithHint("if you trust the directory as you would its author's Makefile, add --trust: that is asked once")
	}
	if state == "" { // a user without a home is asked each time
		return nil
	}
	err := os.MkdirAll(filepath.Dir(kept), 0o700)
	if err == nil {
		err = os.WriteFile(kept, nil, 0o600)
	}
	if err != nil {
		a.tell(fmt.Sprintf("what %s names is asked again next time: %v", dir, err))
	}
	return nil
}

// agrees asks on the terminal; without one it does not.
func (a *app) agrees(question string) bool {
	in, ok := a.terminal()
	if !ok {
		return false
	}
	fmt.Fprint(a.stderr, question)
	answer, _ := bufio.NewReader(in).ReadString('\n') //nolint:errcheck // no answer is no
	return slices.Contains([]string{"y", "yes"}, strings.ToLower(strings.TrimSpace(answer)))
}
