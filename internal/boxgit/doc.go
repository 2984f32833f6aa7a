// Package boxgit is what batch does with the git repository of a container, by
// scripts that need bash and git there: hide what lies beyond its HEAD, compare it
// with the commit that its row names, take the work tree's diff, and write a patch
// that is not UTF-8 as text.
//
// # The history
//
// What lies beyond HEAD goes, so that an agent cannot read the solution of its task
// out of the history that came with an image. [Script] is bash source that does it to the repository around the directory
// it runs in, and [Read] reads what it printed. Afterwards no object is there
// but those that HEAD, its history and the index need, and no ref but HEAD's
// branch and the tags of that history; gone are other branches, remotes with
// their settings, notes, stashes, reflogs, unreachable objects, objects borrowed
// through alternates, FETCH_HEAD and its like, bundles in the git directory,
// other work trees' administration, and what a merge or rebase under way, were
// there one, would go on with. Submodules are scrubbed likewise.
//
// Git makes an abbreviated id as long as the number of objects asks for. Where fewer
// are left, so that it would be shorter, and nobody has set core.abbrev, the
// repository's configuration keeps the length: a diff reads as it would have.
//
// Work tree, index and HEAD, detached or on a branch, stay as they are, and with
// them what git status and git diff say. A ref that replaces a file or a folder
// stays, since git diff heeds it; one that replaces a commit goes. Nothing that
// the repository or its user configured is run.
//
// Given the commit that a row names, the script also says, before it changes
// anything, how the repository around the directory stands to it, whatever GIT_DIR
// says: [ReadBase] and [Base.Mismatch]. That trusts neither the environment nor the
// repository's settings, refs that replace others, or grafts. Where the commit is
// there and not in HEAD's history, it stays, with its own history, as
// refs/batch/base-commit.
//
// It does not look for copies of the solution elsewhere: in files of the work
// tree, or in repositories of other folders. Run from a work tree beside the
// repository's first one (git worktree), it leaves the first one without index.
// A repository that stores its refs as reftable is refused.
//
// The cost is that of listing what HEAD needs, a few milliseconds in a small
// repository and seconds in one of 50,000 commits, of a look at the time of each file in
// the work tree, and of writing one pack where something was found. [Keep] and [Known]
// list no objects.
//
// # Diffs
//
// [WorktreeDiff] and [Portable] work in a repository of their own beside the
// container's, which borrows its objects: nothing that an agent may have done to
// configuration, index, hooks or locks counts, and nothing of it is touched.
package boxgit
