#include "textflag.h"

// func fencedTSC() int64
TEXT ·fencedTSC(SB),NOSPLIT,$0-8
	LFENCE // what comes before has been executed
	RDTSC
	LFENCE // before anything that comes after begins to be
	SHLQ $32, DX
	ORQ  DX, AX
	MOVQ AX, ret+0(FP)
	RET
