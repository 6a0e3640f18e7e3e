" Copy into your vimrc. Select lines, then type :Ask translate to French
" The answer replaces the lines; u brings them back. After a failure they stay as they are.
function! s:Ask(first, last, prompt) abort
  let l:log = tempname()
  let l:command = 'gateway-cli text --quiet --no-vars -- ' . shellescape(a:prompt) . ' 2> ' . shellescape(l:log)
  let l:answer = systemlist(l:command, getline(a:first, a:last))
  if v:shell_error
    echohl ErrorMsg | echomsg join(readfile(l:log), ' ') | echohl None
    return
  endif
  call append(a:last, l:answer)
  silent execute a:first . ',' . a:last . 'delete _'
endfunction
command! -range -nargs=1 Ask call s:Ask(<line1>, <line2>, <q-args>)
