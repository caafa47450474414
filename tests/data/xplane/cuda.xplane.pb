
	/host:CPU_	python/77d"èô" "¸
" "¨F"è
" " 	"À>
" " 	"cuLaunchKernel"cudaMemcpyAsync"$train.py:3 main"make"take*correlation_id*_pt*
_p*_ct*
_c
ý/device:GPU:1[Stream #7(Kernel,MemcpyD2H)d"ˆ'Ñ" "8"¨Fè" "8" œ"8"gemm"	MemcpyD2H"
Memset2 „2	8
*correlation_id*kernel_details*UQMregs:32 static_shared:16 dynamic_shared:8 grid:2,3,1 block:256,1,1 occ_pct:50*memcpy_details*>:6kind_src:device kind_dst:pinned size:64 dest:0 async:1*memset_details*kind:device num_bytes:8*
core_count*		gpu_device_name*

H100
iTask Environment2 €€¨±ãŸçË28*profile_start_time*SECRET_TOKEN*hunter2