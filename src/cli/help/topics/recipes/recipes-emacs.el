;; Copy into your init file. Mark a region, then type M-x gateway-cli-region
;; The answer replaces the region; undo brings it back. After a failure it stays as it is.
(defun gateway-cli-region (start end prompt)
  "Replace the region between START and END by the answer to PROMPT."
  (interactive "r\nsPrompt: ")
  (let ((answer (generate-new-buffer " *gateway-cli*"))
        (log (make-temp-file "gateway-cli")))
    (unwind-protect
        (if (eq 0 (call-process-region start end "gateway-cli" nil (list answer log) nil
                                       "text" "--quiet" "--no-vars" "--" prompt))
            (progn
              (delete-region start end)
              (goto-char start)
              (insert-buffer-substring answer))
          (message "%s" (with-temp-buffer (insert-file-contents log) (string-trim (buffer-string)))))
      (kill-buffer answer)
      (delete-file log))))
