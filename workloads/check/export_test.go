package check

// JudgeSound is as the package has it: a dead lock excuses nothing yet.
var JudgeSound = judgeSound
