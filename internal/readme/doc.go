// Package readme keeps README.md true: its test runs every command that stands
// behind a "$ " in a block fenced as console, and compares what it prints.
//
// A block is fenced by ```console, and may say more behind that word:
//
//	docker         the block runs where the engine and the demo's images are
//	provider       OPENAI_API_KEY and OPENAI_BASE_URL are those of a model server on this machine
//	skip=REASON    the block is not run here; its lines that begin with batch are run by e2e/runs
//
// All blocks run in order in one empty directory, with batch on the PATH and no
// network. A command must end with exit code 0; write `cmd; echo $?` to show
// another. What follows it is its output, standard error included: "..." stands
// for any text within a line, and alone on a line for any lines. Where no output
// follows, none is compared. A line that ends in "\"
// continues on the next one. "cd FOLDER" alone holds until the end of its block.
package readme
