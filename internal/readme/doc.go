// Package readme keeps README.md and the pages of package docs true: its test runs every
// command that stands behind a "$ " in a block fenced as console, and compares what it prints.
//
// A block is fenced by ```console, and may say more behind that word:
//
//	docker         the block runs where the engine and the demo's images are
//	provider       OPENAI_API_KEY and OPENAI_BASE_URL name a model server on this machine
//	skip=REASON    the block is not run here; its lines that begin with batch are run by e2e/runs
//
// All blocks run in one directory, empty at first: the blocks of README.md first, then the
// pages that are written by hand, in the order of docs.Pages. A page can use the runs that
// earlier pages made. Batch is on the PATH, and there is no network. A command must end with exit
// code 0; write `cmd; echo $?` to show another. What follows it is its output, standard error
// included: "..." stands for any text within a line, and alone on a line for any lines. Where no
// output follows, none is compared. A line that ends in "\" continues on the next one. "cd FOLDER"
// alone holds until the end of its block.
package readme
