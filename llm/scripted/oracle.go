package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"batch.example/batch/fault"
	"batch.example/batch/internal/bash"
	"batch.example/batch/vocab"
)

// maxCommand bounds the oracle's commands, in bytes: below Linux's limit of 128 KiB for one argument, so that
// they work however they are run.
const maxCommand = 96 << 10

// Noop returns a player that submits an empty patch at once.
func Noop(cfg Config) *Model {
	replies := []Reply{{Content: "Nothing to do.", Bash: "echo " + vocab.Marker}}
	return newModel(replies, cfg, func(int) error {
		return fault.Newf(fault.Instance, "asking the no-op: its empty submission was not accepted")
	})
}

// Oracle returns a player that writes the patch to a file under /tmp, applies
// it to the working directory and submits the file, so that the submission is
// the patch byte for byte. It needs bash, cat and git (or patch). A patch that
// does not apply is not submitted: the call after that is an Instance fault.
func Oracle(patch []byte, cfg Config) *Model {
	return newModel(oracleReplies(patch), cfg, func(int) error {
		return fault.Newf(fault.Instance, "asking the oracle: gold patch does not apply").
			WithHint("see the last outputs in the trajectory, and check that this is the image of the instance")
	})
}

func oracleReplies(patch []byte) []Reply {
	sum := sha256.Sum256(patch)
	file := "/tmp/batch-gold-" + hex.EncodeToString(sum[:6]) + ".patch"
	var replies []Reply
	for i, command := range bash.Prints(patch, maxCommand) {
		into := " >> "
		if i == 0 {
			into = " > "
		}
		replies = append(replies, Reply{
			Content: "Writing the gold patch.",
			Bash:    command + into + file,
		})
	}
	return append(replies,
		Reply{Content: "Applying it.", Bash: applyCommand(file, len(patch) == 0)},
		Reply{Content: "Submitting it.", Bash: "test -e " + file + ".applied && echo " + vocab.Marker + " && cat " + file},
	)
}

// applyCommand tries the ways to apply a patch in turn. Each is used only if its dry run succeeds, so that a
// failure leaves no files for the next one; --reject comes last, because it always leaves some. git's dry run
// of --3way succeeds despite conflicts, and only mentions them.
func applyCommand(file string, empty bool) string {
	if empty {
		return "touch " + file + ".applied"
	}
	return strings.ReplaceAll(`rm -f FILE.applied
if git apply --verbose FILE; then touch FILE.applied
elif out=$(LC_ALL=C git apply --check --3way FILE 2>&1) && [[ $out != *'with conflicts'* ]] &&
  git apply --3way FILE; then touch FILE.applied
elif patch --dry-run --batch --fuzz=5 -p1 -i FILE && patch --batch --fuzz=5 -p1 -i FILE; then touch FILE.applied
elif git apply --verbose --reject FILE; then touch FILE.applied
else echo 'The gold patch does not apply.'; exit 1
fi`, "FILE", file)
}
