// Package posix is what the lab asks of the system for the processes that it starts:
// signals to them and their groups, users, limits. Windows has none of that: there each
// function fails, and [Missing] says why before anything is started.
package posix
