// Command boxinit is process 1 of every container that batch makes. It reaps,
// starts commands, and is the only thing in there that speaks to batch: over its
// stdin and stdout, in the frames of package wire. It needs nothing of the image.
//
// A process in the container can neither kill nor stop it, since the kernel gives
// process 1 no signal from within that it has no handler for, and cannot look into
// it, since it is not dumpable. Who has CAP_SYS_PTRACE there can, which containers
// lack unless it is asked for; what is written into its pipes is refused even so.
// A user of the container's that is not root may limit its processor time (prlimit);
// then it ends, and batch starts the container again with its files. Its priority, its
// processors and what the kernel kills first under want of memory are its user's to
// change, too, for all commands that follow.
//
// Each command is an interpreter below a supervisor, which is this program again: a
// child-subreaper, so that all that stems from the command stays below it, whatever
// sessions and groups it makes. At its time limit a command is killed with these and
// nothing else. A supervisor has one command at a time, and another one only when the
// kernel has told it that nothing is left below it. Where the supervisor itself is
// killed, what was below it comes to process 1 and is known by that; where several
// were, the time limit of one of these commands ends what is left of all.
//
// Output goes through a pipe of the command's own. When its interpreter has ended,
// what is in the pipe at that moment is its output; what a process that it left
// writes later is read and thrown away. A result is kept until batch lets it be
// forgotten, and a command whose id is known is not run again: so a connection that
// breaks, or a batch that is killed and comes back, loses none and runs none twice.
//
// It ends with [wire.ExitLease] when batch has not been heard of for the time of
// the lease.
package main
