package scripted

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"batch.example/batch/fault"
)

// submitted is the first line of a submission.
const submitted = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// Sizes of the oracle's commands in bytes. A command stays below the 128 KiB
// that Linux allows for one argument, so it works however it is run.
const (
	maxLine    = 4 << 10
	maxCommand = 96 << 10
)

// Noop returns a player that submits an empty patch at once.
func Noop(cfg Config) *Model {
	replies := []Reply{{Content: "Nothing to do.", Bash: "echo " + submitted}}
	return newModel(replies, cfg, func(int) error {
		return fault.Newf(fault.Instance, "asking the no-op: its empty submission was not taken")
	})
}

// Oracle returns a player that writes the patch to a file under /tmp, applies
// it to the working directory and submits the file, so that the submission is
// the patch byte for byte. It needs bash, cat and git (or patch). A patch that
// does not apply is not submitted: the call after that is an Instance fault.
func Oracle(patch []byte, cfg Config) *Model {
	return newModel(oracleReplies(patch), cfg, func(int) error {
		return fault.Newf(fault.Instance, "asking the oracle: gold patch does not apply").
			WithHint("the last outputs in the trajectory say why; is this the image of this instance?")
	})
}

func oracleReplies(patch []byte) []Reply {
	sum := sha256.Sum256(patch)
	file := "/tmp/batch-gold-" + hex.EncodeToString(sum[:6]) + ".patch"
	var replies []Reply
	for i, lines := range writeCommands(patch) {
		into := " >> "
		if i == 0 {
			into = " > "
		}
		replies = append(replies, Reply{
			Content: "Writing the gold patch.",
			Bash:    "{\n" + lines + "}" + into + file,
		})
	}
	return append(replies,
		Reply{Content: "Applying it.", Bash: applyCommand(file, len(patch) == 0)},
		Reply{Content: "Submitting it.", Bash: "test -e " + file + ".applied && echo " + submitted + " && cat " + file},
	)
}

// writeCommands returns groups of lines that print data with bash's builtins.
func writeCommands(data []byte) []string {
	const open, end = "printf '%b' '", "'\n"
	var groups []string
	var group, line strings.Builder
	flush := func() {
		group.WriteString(open + line.String() + end)
		line.Reset()
	}
	for _, b := range data {
		if line.Len() >= maxLine {
			flush()
		}
		if group.Len() >= maxCommand-2*maxLine {
			groups = append(groups, group.String())
			group.Reset()
		}
		line.WriteString(escape(b))
	}
	flush()
	return append(groups, group.String())
}

// escape writes a byte for the argument of printf '%b' in single quotes. What
// could end the quotes, a fenced block or an XML tag around the command is octal.
func escape(b byte) string {
	switch {
	case b == '\n':
		return `\n`
	case b == '\t':
		return `\t`
	case b == '\\':
		return `\\`
	case b < ' ', b > '~', b == '\'', b == '`', b == '<':
		return string([]byte{'\\', '0', '0' + b>>6, '0' + b>>3&7, '0' + b&7})
	}
	return string(rune(b))
}

// applyCommand tries one way of applying after the other, each only where a dry
// run says that it will succeed, so that a failure leaves nothing behind for
// the next; --reject comes last, because it always leaves something behind.
// git's dry run of --3way succeeds with conflicts too, and only says so.
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
