// Package docker gives each instance its container, through the engine's API
// and never through the command-line client.
//
// An [Engine] is one connection to one Docker engine. It finds the engine the
// way the docker command does (DOCKER_HOST, then the context, then the default
// socket), speaks the version both sides know, and sees to images: [Engine.Ensure]
// pulls what is missing once, however many callers ask at the same time. A
// [Container] runs commands with exact bytes and exit codes, takes and gives
// files, and goes away with [Container.Remove].
//
// What a caller may rely on: a container has no network, no mounts, no engine's
// socket, no new privileges, nothing of this process's environment, few
// capabilities and a limit on processes unless the [Spec] says otherwise; a
// create that fails leaves nothing behind; a command that passes its time limit
// is killed with all its children; a container or engine that is gone is an
// error with blame, never the output of a command. Every container carries
// labels that say whose it is, so that [Engine.Reap] can remove what a killed
// process left.
//
// Root keeps the capabilities that installing and testing software needs:
// CHOWN, DAC_OVERRIDE, FOWNER and FSETID (to unpack an archive with its owners
// and modes, and to work in files of others), SETUID and SETGID (su, and package
// managers that drop to a user of their own), KILL (to end such a user's
// processes), NET_BIND_SERVICE (a test's server at port 80) and SYS_CHROOT
// (installers that unpack into a tree of their own). Of what engines give
// besides, it lacks: MKNOD (devices), NET_RAW (packets forged on a shared
// network), SETPCAP and SETFCAP (handing capabilities on) and AUDIT_WRITE (the
// machine's log).
//
// It is not a sandbox against hostile code: it is as tight as the engine is.
package docker
