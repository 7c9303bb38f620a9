// Package peertest tests locks that are made with peerlock. Their cores are tested in the
// world of peers that locklab explore has: [Explore] visits every state that a few peers can
// get into, [Walk] follows one random way through more of them, [Follow] a given one, and
// [Transcripts] are ways that people read. [SimFinds] runs them in virtual time. [Configs],
// [StartAll] and [Cuttable] connect real peers over loopback TCP.
package peertest
