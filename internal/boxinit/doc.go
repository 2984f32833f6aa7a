// Command boxinit is process 1 of every container that batch creates. It reaps
// processes and starts commands. It is the only process in the container that talks to
// batch: over its stdin and stdout, in the frames of package wire. It needs nothing from
// the image.
//
// A process in the container can neither kill nor stop it: it catches or ignores every
// signal except SIGKILL and SIGSTOP, which the kernel does not deliver to process 1 from
// within the container. A process cannot inspect it either, since it is not dumpable. With
// CAP_SYS_PTRACE, which a container has only on request, a process can; bytes that it writes
// into the pipes are still refused. A non-root user in the container may limit the processor
// time of process 1 (prlimit); then it ends, and batch starts the container again with its
// files. That user may also change its priority, its processors and its OOM score, for all
// commands that follow.
//
// Each command is an interpreter below a supervisor, which is another process of this
// program. The supervisor is a child subreaper, so all descendants of the command stay
// below it, whatever sessions and groups they create. At its time limit a command is killed
// with its descendants and nothing else. A supervisor runs one command at a time, and gets
// another one only after the kernel has reported that nothing is left below it. If a
// supervisor is killed, process 1 inherits its descendants and recognizes them by that. If
// several supervisors were killed, the time limit of one of their commands ends the
// descendants of all.
//
// Each command has its own pipe for output. Its output is everything in the pipe when its
// interpreter has ended; what a remaining process writes later is read and discarded.
// A result is kept until batch says that it may be dropped, and a command with a known id
// is not run again. So when a connection breaks, or batch is killed and started again, no
// command is lost and none runs twice.
//
// A program is a command whose stdin and stdout batch has while it runs. Batch and this
// process send only as much of its input and output as the other side has room for. It
// belongs to one connection: when another one begins, or no frame from batch has arrived for
// a time that batch gives, it is killed with its descendants, as it is when it ends.
//
// On request it listens on a port of the container's loopback, and passes each connection on to
// batch as it does the input and output of a program. The port stays open for as long as it runs, the
// connections as long as batch's. While batch is away, connections wait; when it comes back, they are reset.
//
// It ends with [wire.ExitLease] when no frame from batch has arrived for the time of
// the lease.
package main
